-- +goose Up

-- The keys of labels that lists of missions can filter by, as a JSON array. labels_indexed is
-- the last mission whose labels were indexed since a key was added; NULL: all are.
ALTER TABLE account ADD COLUMN filter_labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE account ADD COLUMN labels_indexed TEXT;
CREATE INDEX account_labels_indexed ON account (id) WHERE labels_indexed IS NOT NULL;

-- The filterable labels of missions. The columns are an index range of a list, newest last.
CREATE TABLE mission_label (
    account TEXT NOT NULL REFERENCES account (id),
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    mission TEXT NOT NULL REFERENCES mission (id),
    PRIMARY KEY (account, key, value, mission)
);
CREATE INDEX mission_label_mission ON mission_label (mission);

-- One more range for each pair of a status and a priority: the missions of an assignee.
CREATE INDEX mission_assignee ON mission (account, assignee_id, status, priority, id) WHERE assignee_id IS NOT NULL;
