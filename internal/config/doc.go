// Package config owns the settings of Molar: their types, their defaults, how they
// are read (flags over environment over file over defaults) and what is wrong with
// them. It starts nothing, opens no connection and writes no file; the commands
// hand each part its own few settings and never the whole tree.
//
// YAML is read strictly: all faults of a file are gathered, with their lines. .env files,
// variables in texts, and the files of other hosts (Claude Desktop, VS Code, Cursor, Gemini
// CLI) are read here too; nothing that those name is started, and their secrets become
// references to variables. A [WatchedFile] reports when the content of a file changes: it
// watches the folder, because editors save by replacing the file, and compares contents.
package config
