// Package attachment keeps the files of missions: photos, signatures and reports.
//
// The content of a file is encrypted and stored as an object; its row, its event and the saved
// response of its request are one transaction, which begins when the object is durable. So an
// attachment in the database always has its content. An object without a row is deleted after
// a day.
//
// Other packages use these methods of Service:
//
//	Add(ctx, Upload) (fieldmark.Attachment, error)
//	Execute(ctx, idempotency.Key, Upload, Render) (idempotency.Response, error) // Add, once per key
//	List(ctx, account, mission) ([]fieldmark.Attachment, error)
//	Get(ctx, account, mission, id) (fieldmark.Attachment, error)
//	Open(ctx, account, mission, id) (Content, error) // Content.SetHeader sets the fields of a download
//	Remove(ctx, mission, id) (fieldmark.Attachment, error)
//
// An account of "" means any. ParseName and ParseDigest read fields of an upload. The package
// is independent of routes and pages.
package attachment
