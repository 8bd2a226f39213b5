-- +goose Up

-- Who holds a lease, so that its holder can renew it and nobody else ends it.
ALTER TABLE delivery ADD COLUMN lease_owner TEXT;
ALTER TABLE audit ADD COLUMN lease_owner TEXT;
CREATE INDEX delivery_lease ON delivery (lease_owner) WHERE lease_owner IS NOT NULL;
