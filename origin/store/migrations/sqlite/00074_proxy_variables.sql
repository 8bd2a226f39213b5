-- +goose Up

-- Proxy variables of the popularity of brands that the operator imported, such as the number of links to a site.
CREATE TABLE proxy_variable (
    name  TEXT NOT NULL,
    brand TEXT NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (name, brand)
);
CREATE INDEX proxy_variable_brand ON proxy_variable (brand);
