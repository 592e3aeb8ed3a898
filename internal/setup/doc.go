// Package setup makes a first config file: it looks for what this machine has (models,
// the servers of other hosts), asks a person for the rest, and writes a commented
// molar.yaml, with the secrets that it found in the file of variables beside it. It starts
// no server and changes nothing but those files.
//
// The doctor checks what a host needs before it can serve: settings, model, servers, store,
// ports and permissions. Each fault comes with the way out of it.
package setup
