package command

// The exit statuses of fieldmark, besides 0 for success.
const (
	StatusError  = 1 // the command could not do what it was asked to do
	StatusUsage  = 2 // the command line is wrong
	StatusNotMet = 3 // a score is too low, or a document differs
)

// ExitError is an error that ends the program with a specific exit status.
type ExitError struct {
	Status int
	Err    error
}

// WithStatus adds an exit status to an error.
func WithStatus(status int, err error) error { return ExitError{status, err} }

// Error implements error.
func (e ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error without its status.
func (e ExitError) Unwrap() error { return e.Err }
