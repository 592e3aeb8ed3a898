// Package process runs a server's command: in a group of its own, with a short list of the
// host's environment, and never longer than the host.
package process
