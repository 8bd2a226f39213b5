-- +goose Up

-- What the search of the console reads: title, external id and assignee in lower case. The index
-- covers the search, so that it does not read the missions.
ALTER TABLE mission ADD COLUMN search_text TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE mission SET search_text = substr(lower(COALESCE(request::json ->> 'title', '') || chr(10) ||
    external_id || chr(10) ||    COALESCE(assignee::json ->> 'id', '') || chr(10) || COALESCE(assignee::json ->> 'name', '')), 1, 500);
CREATE INDEX mission_search ON mission (account, id, search_text);

-- Open missions by the start of the visit.
CREATE INDEX mission_visit ON mission (account, scheduled_start, id)
    WHERE scheduled_start IS NOT NULL AND status NOT IN ('COMPLETED', 'CLOSED', 'CANCELED');

-- The earliest due time of the SLA timers that have not stopped; NULL: all have.
ALTER TABLE sla ADD COLUMN account TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sla ADD COLUMN deadline BIGINT;
UPDATE sla SET account = (SELECT m.account FROM mission m WHERE m.id = sla.mission),
    deadline = (SELECT MIN((EXTRACT(EPOCH FROM (t.value ->> 'dueAt')::timestamptz) * 1000000)::bigint)
        FROM json_array_elements(sla.timers::json) t (value) WHERE t.value ->> 'stoppedAt' IS NULL
        AND t.value ->> 'state' IN ('RUNNING', 'PAUSED', 'BREACHED'));
CREATE INDEX sla_deadline ON sla (account, deadline, mission) WHERE deadline IS NOT NULL;
