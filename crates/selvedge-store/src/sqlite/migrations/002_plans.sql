-- Which part of which plan a run is; both absent for a run of its own.
ALTER TABLE run ADD COLUMN plan TEXT;
ALTER TABLE run ADD COLUMN subtask TEXT;
