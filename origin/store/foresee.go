package store

// Foresight is what a write will ask the record, said before it is begun. To a
// server each question is a journey, and all members of a group wait for it; of
// what was foreseen the leader asks for all of them at once. A write may still
// ask what it did not foresee, and need not ask what it did.
type Foresight struct {
	Missions []MissionName // it may open
	Kept     []KeptName    // answers it may keep or repeat
}

// MissionName is the natural key of a mission.
type MissionName struct{ Account, Source, ExternalID string }

func (n MissionName) compared() MissionName {
	n.Source = sourceKey(n.Source)
	return n
}

// KeptName is the key of an account's that an answer is kept under.
type KeptName struct{ Account, Key string }

// known is what the leader asked for members. They hold the lock of all writers,
// so it changes by their own writes only. What is not in a map is not known.
type known struct {
	missions map[MissionName]bool // whether there is one
	kept     map[KeptName]*Kept   // nil: there is none
}

// askMissions asks which names are taken. A server that knows nothing of a new
// table yet would look them up by whatever index begins with the account,
// and keep to that plan: the comparison of rows fits one index alone. LIMIT
// keeps it from reading the table whole.
const askMissions = `SELECT n.i FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS n (account, source_key, external_id, i),
		LATERAL (SELECT m.account, m.source_key, m.external_id FROM mission m
			WHERE (m.account, m.source_key, m.external_id) >= (n.account, n.source_key, n.external_id)
			ORDER BY m.account, m.source_key, m.external_id LIMIT 1) m
		WHERE m.account = n.account AND m.source_key = n.source_key AND m.external_id = n.external_id`

// foresee returns what to ask for all members: what they will ask, and what every
// write does.
func (g *group) foresee(batch []*write) []question {
	if len(batch) == 0 {
		return nil
	}
	g.known = known{make(map[MissionName]bool), make(map[KeptName]*Kept)}
	var missions []MissionName
	var kept []KeptName
	accounts := make(map[string]bool)
	for _, w := range batch {
		for _, name := range w.ahead.Missions {
			name = name.compared()
			if _, ok := g.known.missions[name]; !ok {
				g.known.missions[name] = false
				missions, accounts[name.Account] = append(missions, name), true
			}
		}
		for _, name := range w.ahead.Kept {
			if _, ok := g.known.kept[name]; !ok {
				g.known.kept[name] = nil
				kept = append(kept, name)
			}
		}
	}
	questions := []question{{askLog, []any{logName}, func(row scanner) error {
		g.log.read = true
		return row.Scan(&g.log.from, &g.log.at)
	}}}
	if len(missions) > 0 {
		rules, names := newRules(), columns(missions, func(n MissionName) []string { return []string{n.Account, n.Source, n.ExternalID} })
		questions = append(questions,
			question{askRules, nil, rules.take}, g.askEndpoints(accounts),
			question{askMissions, names, func(row scanner) error {
				var i int
				err := row.Scan(&i)
				if err == nil {
					g.known.missions[missions[i-1]] = true
				}
				return err
			}})
		g.rules = rules
	}
	if len(kept) > 0 {
		questions = append(questions, question{askKept, keptNames(kept), func(row scanner) error {
			var i int
			k, err := scanKept(row, &i)
			if err == nil {
				k.Account, k.Key = kept[i-1].Account, kept[i-1].Key
				g.known.kept[kept[i-1]] = &k
			}
			return err
		}})
	}
	return questions
}
