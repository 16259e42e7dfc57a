-- The tables are one sink's.
CREATE UNIQUE INDEX holdfast_cursor_one ON holdfast_cursor ((true));

-- refused: by a constraint or a column's type, in the words that detail keeps.
ALTER TABLE holdfast_parked
  DROP CONSTRAINT holdfast_parked_reason_check,
  ADD CONSTRAINT holdfast_parked_reason_check CHECK (reason IN ('no_room', 'duplicate_live', 'bad_id', 'foreign_row', 'refused'));

-- What ended long ago is removed.
CREATE INDEX holdfast_parked_ended ON holdfast_parked (changed_at) WHERE state <> 'parked';
