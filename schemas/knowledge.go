package schemas

import (
	"fmt"
	"net/url"
	"strings"
)

// A Place is where a passage stands in a document of a folder of knowledge.
type Place struct {
	// Folder is the folder's name, File the document's path below it, with slashes.
	Folder string `json:"folder"`
	File   string `json:"file"`
	// Page counts the pages of a PDF from 1, Sheet names that of a workbook, and Line is the first line
	// of a text, or the first row of a table, from 1. Zero and empty mean that the document has none.
	Page  int    `json:"page,omitempty"`
	Sheet string `json:"sheet,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Last is the last row of a table that the passage holds; zero without rows.
	Last int `json:"last,omitempty"`
	// Part is which of the document's passages it was when it was found, from 1.
	Part int `json:"part,omitempty"`
	// Heading is the heading above the passage, and Anchor the same as the fragment of an address.
	Heading string `json:"heading,omitempty"`
	Anchor  string `json:"anchor,omitempty"`
}

// Text returns the place as a person reads it, in Vietnamese for "vi", else in English.
func (p Place) Text(lang string) string {
	page, row, rows := "page", "row", "rows"
	if lang == "vi" {
		page, row, rows = "trang", "dòng", "dòng"
	}
	switch {
	case p.Page > 0:
		return fmt.Sprintf("%s, %s %d", p.File, page, p.Page)
	case p.Sheet != "" && p.Last > p.Line:
		return fmt.Sprintf("%s, %s, %s %d–%d", p.File, p.Sheet, rows, p.Line, p.Last)
	case p.Sheet != "" && p.Line > 0:
		return fmt.Sprintf("%s, %s, %s %d", p.File, p.Sheet, row, p.Line)
	case p.Heading != "":
		return p.File + ", " + p.Heading
	case p.Line > 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return p.File
}

// Fragment returns the place within its document as the fragment of an address: that of a PDF opens the
// page in any browser ("page=3").
func (p Place) Fragment() string {
	switch {
	case p.Page > 0:
		return fmt.Sprintf("page=%d", p.Page)
	case p.Sheet != "":
		return fmt.Sprintf("%s!%d", p.Sheet, max(p.Line, 1))
	}
	if p.Anchor == "" && p.Line > 0 {
		return fmt.Sprintf("line=%d", p.Line)
	}
	return p.Anchor
}

// Address returns the path at which the pages of the host show the document, with the place as its fragment.
// The query names the passage among those that begin there.
func (p Place) Address() string {
	u := url.URL{Path: "/knowledge/" + p.Folder + "/" + p.File, Fragment: p.Fragment()}
	if p.Part > 0 {
		u.RawQuery = fmt.Sprintf("part=%d", p.Part)
	}
	return u.String()
}

// A Document is a file of a folder of knowledge as its search reads it: text only.
type Document struct {
	Folder string `json:"folder"`
	File   string `json:"file"`
	Title  string `json:"title"`
	// Link is the web address of the file, if the folder has one.
	Link string `json:"link,omitempty"`
	// Parts are in the order of the document.
	Parts []DocumentPart `json:"parts"`
	// Next is the number of the first part that is left out of a long document, counted from 0; 0 if none is.
	Next int `json:"next,omitempty"`
}

// A DocumentPart is the text at one place of a document: a passage, a page, or rows of a table.
type DocumentPart struct {
	Place Place `json:"place"`
	// Title is that of the document and the headings down to the part.
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

// A KnowledgeStatus is what a folder of knowledge has read, and what not.
type KnowledgeStatus struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Path is the folder on the disk of the host.
	Path string `json:"path,omitempty"`
	// Done of Files files are read; they have Passages passages with Bytes bytes of text.
	Done     int   `json:"done"`
	Files    int   `json:"files"`
	Passages int   `json:"passages"`
	Bytes    int64 `json:"bytes"`
	// Unread are files that are not read: at most 200 of UnreadFiles.
	Unread      []UnreadFile `json:"unread"`
	UnreadFiles int          `json:"unread_files"`
	// Threshold is the least share of a question, of 0 to 1, that a passage must hold; Learned is set if the
	// folder's own texts set it.
	Threshold float64 `json:"threshold"`
	Learned   bool    `json:"learned"`
	// Meaning is nil for a folder that is searched by words alone.
	Meaning *MeaningStatus `json:"meaning,omitempty"`
}

// An UnreadFile is a file that is not read, and why.
type UnreadFile struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// A MeaningStatus is how far the vectors of a folder are computed.
type MeaningStatus struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Done of Passages passages have a vector.
	Done     int `json:"done"`
	Passages int `json:"passages"`
	// Problem is why the service computes none at present; then words alone count. Empty if it does.
	Problem string `json:"problem,omitempty"`
}

// State says how far a folder is read, in a few words.
func (s KnowledgeStatus) State() string {
	if s.Done < s.Files {
		return fmt.Sprintf("reading, %d of %d files", s.Done, s.Files)
	}
	if s.Files == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", s.Files)
}

// NotRead says how many files are not read, and names at most so many of them; it is empty if all are read.
func (s KnowledgeStatus) NotRead(most int) string {
	if s.UnreadFiles == 0 {
		return ""
	}
	var named []string
	for _, u := range s.Unread[:min(most, len(s.Unread))] {
		named = append(named, u.String())
	}
	text := fmt.Sprintf("%d not read, or only in part: %s", s.UnreadFiles, strings.Join(named, "; "))
	if left := s.UnreadFiles - len(named); left > 0 {
		text += fmt.Sprintf("; and %d more", left)
	}
	return text
}

// String returns the file and why it is not read.
func (u UnreadFile) String() string { return u.File + ": " + u.Why }

// A Vector is the meaning of a passage as numbers, as it is stored.
type Vector struct {
	// Hash is that of the passage's title and text.
	Hash string
	// Data are a signed byte for each number: of the vector only its direction counts.
	Data []byte
}
