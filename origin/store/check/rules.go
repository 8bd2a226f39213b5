package check

// Rule is something that must hold in a database.
type Rule struct {
	Name  string
	Query string // finds rows that break the rule; the first column names the row
}

// rules are the consistency rules of the tables. Test worlds keep their events for a week only, and
// those that were erased have no subject, so rules about events skip them.
var rules = []Rule{
	{"the log has the number of its newest event", `SELECT l.number FROM log l
		WHERE l.number <> (SELECT COALESCE(MAX(e.number), 0) FROM event e)`},
	{"event numbers have no gap", `SELECT e.number FROM event e
		WHERE e.number > (SELECT MIN(f.number) FROM event f)
		AND NOT EXISTS (SELECT 1 FROM event f WHERE f.number = e.number - 1)`},
	{"every mission was created by an event", `SELECT m.id FROM mission m
		WHERE m.world = '' AND ` + untrimmed("m.created_at") + ` AND NOT EXISTS (SELECT 1 FROM event e
			WHERE e.subject = m.id AND e.type = 'mission.created')`},
	{"every completed mission has its event", `SELECT m.id FROM mission m
		WHERE m.world = '' AND m.completed_at IS NOT NULL AND ` + untrimmed("m.completed_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.completed')`},
	{"every closed or canceled mission has its event", `SELECT m.id FROM mission m
		WHERE m.world = '' AND (m.closed_at IS NOT NULL AND ` + untrimmed("m.closed_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e
			WHERE e.subject = m.id AND e.type = 'mission.closed'))
		OR m.world = '' AND (m.canceled_at IS NOT NULL AND ` + untrimmed("m.canceled_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e
			WHERE e.subject = m.id AND e.type = 'mission.canceled'))`},
	{"a mission's status and priority are valid", `SELECT m.id FROM mission m
		WHERE m.status NOT IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'COMPLETED',
			'UNABLE_TO_COMPLETE', 'CLOSED', 'CANCELED')
		OR m.priority NOT IN ('LOW', 'MEDIUM', 'HIGH', 'CRITICAL') OR (m.held <> '') <> (m.status = 'ON_HOLD')`},
	{"no change is later than the newest stamp", `SELECT m.id FROM mission m
		WHERE m.world = '' AND m.version > 1 AND m.updated_at > (SELECT MAX(l.at) FROM log l)
		AND (SELECT MAX(l.at) FROM log l) > 0`},
	// A repeated request is answered from that mission: one of another account would be disclosed.
	{"a saved response names a mission of its account", `SELECT i.name FROM idempotency i
		WHERE i.mission IS NOT NULL AND NOT EXISTS (SELECT 1 FROM mission m WHERE m.id = i.mission
			AND m.account = i.account)`},
	// Earlier versions of the program raised the version for a repeated alert
	// without an event; column heard is how many versions may be of that kind.
	{"a mission has one event per version", `SELECT m.id FROM mission m
		WHERE m.world = '' AND ` + untrimmed("m.created_at") + ` AND m.version - (SELECT COUNT(*) FROM event e
			WHERE e.subject = m.id AND e.type LIKE 'mission.%' AND e.type <> 'mission.noted')
			NOT BETWEEN 0 AND m.heard`},
	{"a sub-account is directly below an account, whose id begins its own", `SELECT a.id FROM account a
		WHERE a.parent IS NOT NULL AND (a.offer IS NOT NULL OR a.id NOT LIKE a.parent || '.%' OR NOT EXISTS (SELECT 1
			FROM account p WHERE p.id = a.parent AND p.parent IS NULL AND p.removed_at IS NULL))
		OR a.parent IS NULL AND a.removed_at IS NOT NULL`},
	{"an account with sub-accounts has a group offer", `SELECT p.id FROM account p LEFT JOIN offer o ON o.id = p.offer
		WHERE COALESCE(o.kind, '') <> 'group' AND EXISTS (SELECT 1 FROM account a WHERE a.parent = p.id
			AND a.removed_at IS NULL)`},
	{"a removed sub-account has neither live keys nor endpoints", `SELECT a.id FROM account a
		WHERE a.removed_at IS NOT NULL AND (EXISTS (SELECT 1 FROM api_key k WHERE k.account = a.id
			AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > a.removed_at))
		OR EXISTS (SELECT 1 FROM endpoint e WHERE e.account = a.id AND e.deleted_at IS NULL))`},
	{"a test account has the id of a live account and ~test, and is the world of its rows", `SELECT a.id FROM account a
		WHERE (a.id LIKE '%~test') <> (a.world <> '') OR (a.world <> '' AND (a.world <> a.id OR a.parent IS NOT NULL
			OR a.offer IS NOT NULL OR a.clock_offset < 0
			OR NOT EXISTS (SELECT 1 FROM account l WHERE l.id || '~test' = a.id)))
		OR a.world = '' AND a.clock_offset <> 0`},
	// A day more than the bound, because the clocks of two processes may differ.
	{"a clock is that of a test world, at most 401 days ahead", `SELECT a.id FROM account a
		WHERE a.clock_offset > 401 * 86400000000
		UNION ALL SELECT c.account FROM test_clock c WHERE NOT EXISTS (SELECT 1 FROM account a
			WHERE a.id = c.account AND a.world <> '')
		UNION ALL SELECT c.account FROM test_clock c WHERE c.advancing = 0 AND c.lease_owner IS NOT NULL`},
	{"a row is in the test world of its account", `SELECT m.id FROM mission m JOIN account a ON a.id = m.account
			WHERE m.world <> a.world
		UNION ALL SELECT s.mission FROM sla s JOIN mission m ON m.id = s.mission WHERE s.world <> m.world
		UNION ALL SELECT p.id FROM payment p JOIN mission m ON m.id = p.mission WHERE p.world <> m.world
		UNION ALL SELECT q.mission FROM pending_alert q JOIN mission m ON m.id = q.mission WHERE q.world <> m.world
		UNION ALL SELECT e.id FROM endpoint e JOIN account a ON a.id = e.account WHERE e.world <> a.world
		UNION ALL SELECT d.id FROM delivery d JOIN endpoint e ON e.id = d.endpoint WHERE d.world <> e.world`},
	{"missions a day are counted for the account that has the limits", `SELECT u.account FROM account_use u
		JOIN account a ON a.id = u.account WHERE a.parent IS NOT NULL`},
	{"a request for an API key is in a known state, and ends later than it was sent", `SELECT r.id FROM access_request r
		WHERE r.state NOT IN ('pending', 'approved', 'declined', 'issued', 'expired') OR r.ends_at <= r.created_at`},
	// The documents are compact JSON, in which the quotes of the applicant's texts are escaped.
	{"an approved request names an account", `SELECT r.id FROM access_request r WHERE r.state = 'approved'
		AND NOT EXISTS (SELECT 1 FROM account a WHERE r.body LIKE '%"grant":{"account":"' || a.id || '"%')`},
	{"an issued request names its key", `SELECT r.id FROM access_request r WHERE r.state = 'issued'
		AND NOT EXISTS (SELECT 1 FROM api_key k WHERE r.body LIKE '%"keyId":"' || k.id || '"%')`},
	{"a redacted note has no text", `SELECT n.id FROM mission_note n WHERE n.redacted_at IS NOT NULL AND n.text <> ''`},
	{"every note has its event", `SELECT n.id FROM mission_note n JOIN mission m ON m.id = n.mission
		WHERE m.world = '' AND ` + untrimmed("n.created_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = n.mission AND e.type = 'mission.noted')`},
	{"a mission has at most 500 notes", `SELECT n.mission FROM mission_note n GROUP BY n.mission
		HAVING COUNT(*) > 500`},
	{"every attachment has its event", `SELECT a.id FROM attachment a JOIN mission m ON m.id = a.mission
		WHERE m.world = '' AND ` + untrimmed("a.created_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = a.mission AND e.type = 'attachment.added')`},
	{"the attachments of a mission are within its limits", `SELECT a.mission FROM attachment a
		WHERE a.removed_at IS NULL GROUP BY a.mission HAVING COUNT(*) > 50 OR SUM(a.size) > 209715200`},
	{"an attachment has its key until it is removed", `SELECT a.id FROM attachment a
		WHERE (a.sealed_key = '') <> (a.removed_at IS NOT NULL) OR (a.removed_at IS NOT NULL AND a.name <> '')`},
	{"an indexed label is of a mission of its account", `SELECT l.mission FROM mission_label l
		WHERE NOT EXISTS (SELECT 1 FROM mission m WHERE m.id = l.mission AND m.account = l.account)`},
	{"the deadline of SLA timers is of a mission that is open", `SELECT s.mission FROM sla s
		JOIN mission m ON m.id = s.mission WHERE s.account <> m.account
		OR (COALESCE(s.deadline, s.breached_at, s.at_risk_due) IS NOT NULL AND m.status IN ('CLOSED', 'CANCELED'))`},
	{"a delivery has its endpoint and its event", `SELECT d.id FROM delivery d
		WHERE NOT EXISTS (SELECT 1 FROM endpoint p WHERE p.id = d.endpoint)
		OR NOT EXISTS (SELECT 1 FROM event e WHERE e.number = d.event)`},
	{"a delivery counts its attempts", `SELECT d.id FROM delivery d
		WHERE d.attempts <> (SELECT COUNT(*) FROM attempt a WHERE a.delivery = d.id)`},
	{"an attempt names the event of its delivery", `SELECT a.delivery FROM attempt a
		JOIN delivery d ON d.id = a.delivery WHERE a.event <> d.event`},
	{"only due deliveries are leased", `SELECT d.id FROM delivery d WHERE d.state <> 'due' AND d.lease_until IS NOT
		NULL`},
	{"a delivery's state is valid", `SELECT d.id FROM delivery d WHERE d.state NOT IN ('due', 'waiting', 'done',
		'failed')`},
	{"an endpoint with due deliveries is scheduled", `SELECT p.id FROM endpoint p
		WHERE p.deleted_at IS NULL AND p.state = 'enabled' AND p.wake_at IS NULL
		AND EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = p.id AND d.state = 'due' AND d.lease_owner IS NULL)
		AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = p.id AND d.lease_owner IS NOT NULL)`},
	{"a waiting delivery has a due one before it", `SELECT d.id FROM delivery d
		WHERE d.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM delivery b
			WHERE b.endpoint = d.endpoint AND b.topic = d.topic AND b.state = 'due')`},
	{"an emitted SLA event is in the log", `SELECT s.mission FROM sla_event s
		JOIN mission m ON m.id = s.mission
		WHERE m.world = '' AND ` + untrimmed("s.at") + `
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = s.event AND e.type = s.kind
			AND e.subject = s.mission)`},
	{"an SLA event in the log was stored as emitted", `SELECT e.id FROM event e
		WHERE e.subject <> '' AND e.type LIKE 'sla.%' AND NOT EXISTS (SELECT 1 FROM sla_event s WHERE s.event = e.id)`},
	{"the SLA timers of an ended mission have stopped", `SELECT s.mission FROM sla s JOIN mission m ON m.id = s.mission
		WHERE m.status IN ('CLOSED', 'CANCELED') AND (s.due_at IS NOT NULL OR s.rules IS NOT NULL)`},
	{"only running SLA timers are due", `SELECT s.mission FROM sla s WHERE s.due_at IS NOT NULL AND s.rules IS NULL`},
	{"a payment's state is valid", `SELECT p.id FROM payment p WHERE p.status NOT IN ('NONE', 'PENDING', 'DUE',
		'PROCESSING', 'PAID',
		'FAILED', 'OVERDUE', 'PARTIALLY_REFUNDED', 'REFUNDED', 'CANCELED')`},
	{"a payment has the event of its state", `SELECT p.id FROM payment p WHERE p.status NOT IN ('NONE', 'PENDING')
		AND p.world = '' AND ` + untrimmed("p.updated_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = p.id
			AND e.type = CASE p.status
			WHEN 'PARTIALLY_REFUNDED' THEN 'payment.refunded' ELSE 'payment.' || lower(p.status) END)`},
	{"a payment is overdue once", `SELECT e.subject FROM event e WHERE e.type = 'payment.overdue' AND e.subject <> ''
		GROUP BY e.subject HAVING COUNT(*) > 1`},
	{"refunds add up to the refunded amount", `SELECT p.id FROM payment p
		WHERE p.refunded <> (SELECT COALESCE(SUM(r.amount), 0) FROM refund r WHERE r.payment = p.id)
			OR p.refunded > p.amount`},
	{"a brand's facts are its newest revision", `SELECT b.slug FROM brand b
		WHERE b.facts_digest IS NOT NULL AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.brand = b.slug
			AND r.digest = b.facts_digest AND r.last_at = b.facts_at
			AND r.first_at = (SELECT MAX(q.first_at) FROM revision q WHERE q.brand = b.slug))`},
	{"a dispute is open or decided", `SELECT d.id FROM dispute d
		WHERE d.state NOT IN ('open', 'rechecking', 'in_review', 'settled', 'upheld', 'rejected', 'withdrawn', 'lapsed')
		OR (d.state IN ('open', 'rechecking', 'in_review')) <> (d.decided_at IS NULL)`},
	// What waits for a worker must be found by it: a row that nothing makes due again waits forever, without an error.
	{"a dispute is rechecked by an audit that is queued or runs", `SELECT d.id FROM dispute d
		WHERE d.state = 'rechecking' AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.brand = d.brand
			AND a.failure = '')`},
	{"an open claim is checked again", `SELECT c.id FROM claim c
		WHERE c.state IN ('pending', 'verified', 'lapsing', 'contested') AND c.due_at IS NULL`},
	{"a check of a site is due until it has ended", `SELECT c.id FROM site_check c
		WHERE (c.state IN ('queued', 'running')) <> (c.due_at IS NOT NULL)`},
	{"mail to an address is due until it has ended", `SELECT m.id FROM mail_address m
		WHERE (m.state = 'ended') <> (m.due_at IS NULL)`},
	{"a request of an owner is pending or decided", `SELECT r.id FROM brand_request r
		WHERE (r.state = 'pending') <> (r.decided_at IS NULL)`},
	{"every request for an API key has its event", `SELECT r.id FROM access_request r
		WHERE ` + untrimmed("r.created_at") + ` AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = r.id
			AND e.type = 'access_request.opened')`},
	{"every refused request that an edge accepted has its event", `SELECT i.id FROM intake i
		WHERE i.state = 'refused' AND ` + untrimmed("i.decided_at") + ` AND NOT EXISTS (SELECT 1 FROM event e
			WHERE e.subject = i.id AND e.type = 'intake.refused')`},
	{"a changed score is of an event in the log", `SELECT s.slug FROM score_change s
		WHERE s.event > (SELECT MAX(l.number) FROM log l)`},
	{"a proxy variable has values of brands", `SELECT p.name || ' ' || p.brand FROM proxy_variable p
		WHERE NOT EXISTS (SELECT 1 FROM brand b WHERE b.slug = p.brand)`},
	{"a study has one active result", `SELECT r.id FROM study_result r
		WHERE r.superseded = 0 GROUP BY r.id HAVING COUNT(*) > 1`},
	{"a brand's part of a study is of an active result", `SELECT s.study || ' ' || s.brand FROM study_brand s
		WHERE NOT EXISTS (SELECT 1 FROM brand b WHERE b.slug = s.brand)
		OR NOT EXISTS (SELECT 1 FROM study_result r WHERE r.id = s.study AND r.superseded = 0)`},
	{"an open order is of a known name", `SELECT o.id FROM acme_order o
		WHERE o.ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM certificate c WHERE c.name = o.name)`},
	{"a certificate has its key and its validity", `SELECT c.name FROM certificate c
		WHERE (c.chain = '') <> (c.sealed_key = '') OR (c.chain = '') <> (c.not_after IS NULL)`},
}

// untrimmed is the condition that an event at a time would still be in the log,
// with a minute to spare for clocks that differ.
func untrimmed(at string) string {
	return at + ` > (SELECT CASE WHEN MIN(o.number) > 1 THEN MIN(o.at) + 60000000 ELSE 0 END FROM event o)`
}
