-- What was called a tenant is a project. Triggers are renamed with the columns.
ALTER TABLE task RENAME COLUMN tenant TO project;
ALTER TABLE idempotency RENAME COLUMN tenant TO project;
ALTER TABLE token RENAME COLUMN tenant TO project;
ALTER TABLE audit RENAME COLUMN tenant TO project;
ALTER TABLE login_session RENAME COLUMN tenant TO project;
ALTER TABLE webhook RENAME COLUMN tenant TO project;
ALTER TABLE schedule RENAME COLUMN tenant TO project;
