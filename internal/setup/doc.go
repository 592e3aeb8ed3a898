// Package setup writes a first config file and checks an existing one.
//
// Setup detects the models of this machine and the MCP servers of other hosts, asks a person three
// questions, and writes a commented molar.yaml. Secrets of the other hosts go into the variables
// file next to it. Setup starts no server and changes no other file.
//
// The doctor checks what a host needs before it can serve: settings, model, servers, store, ports
// and permissions. Each fault comes with a remedy.
package setup
