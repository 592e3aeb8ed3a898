// Package config defines the settings of Molar with their defaults, loads them (flags override
// the environment, which overrides the file, which overrides the defaults) and validates them.
// It starts no program, opens no connection and writes no file. The commands pass each part
// only the settings that it needs.
//
// YAML is read strictly: all faults of a file are collected, with their lines. The package also
// reads .env files, ${NAME} references in values, and the files in which other hosts configure MCP
// servers. It starts none of those servers, and replaces their secrets by references to variables.
// [AddServers] and [RemoveServer] edit the text of a file and keep the rest of it. [WatchFile] reports when the content of
// a file changes: it watches the folder, because editors save by replacing the file, and
// compares contents.
package config
