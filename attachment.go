package fieldmark

// Limits of the attachments of a mission.
const (
	// MaxAttachment limits one attachment, in bytes. Phones shrink photos before they send
	// them; a scanned report of 20 pages fits too.
	MaxAttachment = 10 << 20
	// MaxAttachments and MaxAttachmentBytes limit the attachments of a mission that are not
	// removed.
	MaxAttachments     = 50
	MaxAttachmentBytes = 200 << 20
	// MaxAttachmentTime limits how long an upload may take, in seconds: MaxAttachment at
	// 0.7 Mbit/s, a poor mobile connection.
	MaxAttachmentTime = 120
	// MaxAttachmentName limits the name of a file, in bytes: file systems have this limit.
	MaxAttachmentName = 255
)

// PathAttachments follows the address of a mission.
const PathAttachments = "/attachments"

// Attachment is a file of a mission, such as a photo or a signed report. Attachments are never
// changed; an administrator may remove one.
type Attachment struct {
	ID          string     `json:"id"` // att_…
	MissionID   string     `json:"missionId"`
	ContentType string     `json:"contentType"`    // media type
	Name        string     `json:"name,omitempty"` // of the file; empty if none was sent, or the file was removed
	Size        int64      `json:"size"`           // bytes
	Digest      Digest     `json:"digest"`         // of the content
	Author      NoteAuthor `json:"author"`         // who added it
	CreatedAt   Time       `json:"createdAt"`
	RemovedAt   *Time      `json:"removedAt"` // null while the content exists
	RemovedBy   string     `json:"removedBy,omitempty"`
}

// AttachmentChange is the data of attachment.added and attachment.removed. It contains no
// address and no name of the file: both may be personal data, and receivers keep events.
type AttachmentChange struct {
	ID         string     `json:"id"` // of the mission
	ExternalID string     `json:"externalId"`
	Source     string     `json:"source"`
	Attachment Attachment `json:"attachment"`
}
