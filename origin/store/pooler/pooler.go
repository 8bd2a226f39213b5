package pooler

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrSession reports work that needs one session of the server.
var ErrSession = errors.New("migrations lock a session, which pooler=transaction does not keep; " +
	"run fieldmark migrate up with the URL of the server itself")

// parameter is the parameter of a URL that names the kind of pooler, and transaction its one value.
const parameter, transaction = "pooler", "transaction"

// Transaction reports whether a URL leads to a pooler of transactions. An invalid URL does not.
func Transaction(from string) bool {
	cfg, err := pgx.ParseConfig(from)
	return err == nil && cfg.RuntimeParams[parameter] == transaction
}

// Configure prepares a connection for the pooler that its URL names, and reports whether there is one.
// Statements are sent without names: the next transaction is on a session that does not know them.
func Configure(cfg *pgx.ConnConfig) (bool, error) {
	kind, ok := cfg.RuntimeParams[parameter]
	if !ok {
		return false, nil
	}
	if kind != transaction {
		return false, errors.New("invalid database URL: pooler must be " + transaction)
	}
	delete(cfg.RuntimeParams, parameter) // the server would refuse it
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	return true, nil
}

// Begin adds settings to the statements that begin a transaction. They end with it, and cost no round trip:
// all are sent in one batch. Values are constants of this program.
func Begin(begin []string, settings map[string]string) []string {
	all := begin[:1:1] // what begins the transaction; the lock follows the settings, of which one bounds it
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		all = append(all, "SET LOCAL "+name+" = '"+strings.ReplaceAll(settings[name], "'", "''")+"'")
	}
	return append(all, begin[1:]...)
}
