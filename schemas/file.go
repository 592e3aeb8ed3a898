package schemas

// A File is a file of a question in a conversation.
type File struct {
	// Seq is the question's, N counts its files from 0.
	Seq   int64  `json:"seq"`
	N     int    `json:"n"`
	Name  string `json:"name"`
	Media string `json:"media"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// FilePartSize is the size of the parts in which files are written and read, except the last.
const FilePartSize = 1 << 20

// A FileChunk is a part of a file; parts count from 0 and come in order.
type FileChunk struct {
	Part int    `json:"part"`
	Data []byte `json:"data"`
	// Last is set on the last part.
	Last bool `json:"last"`
}
