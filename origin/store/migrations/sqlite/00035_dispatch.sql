-- +goose Up

-- What the search of the console reads: title, external id and assignee in lower case. The index
-- covers the search, so that it does not read the missions.
ALTER TABLE mission ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE mission SET search_text = substr(lower(COALESCE(json_extract(request, '$.title'), '') || char(10) ||
    external_id ||    char(10) || COALESCE(json_extract(assignee, '$.id'), '') || char(10) ||
    COALESCE(json_extract(assignee, '$.name'), '')), 1, 500);
CREATE INDEX mission_search ON mission (account, id, search_text);

-- Open missions by the start of the visit.
CREATE INDEX mission_visit ON mission (account, scheduled_start, id)
    WHERE scheduled_start IS NOT NULL AND status NOT IN ('COMPLETED', 'CLOSED', 'CANCELED');

-- The earliest due time of the SLA timers that have not stopped; NULL: all have.
ALTER TABLE sla ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE sla ADD COLUMN deadline BIGINT;
UPDATE sla SET account = (SELECT m.account FROM mission m WHERE m.id = sla.mission),
    deadline = (SELECT MIN(CAST(round(unixepoch(t.value ->> 'dueAt', 'subsec') * 1000) * 1000 AS BIGINT))
        FROM json_each(sla.timers) t WHERE t.value ->> 'stoppedAt' IS NULL
        AND t.value ->> 'state' IN ('RUNNING', 'PAUSED', 'BREACHED'));
CREATE INDEX sla_deadline ON sla (account, deadline, mission) WHERE deadline IS NOT NULL;
