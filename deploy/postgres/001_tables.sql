-- The tables that holdfast-relay writes. {{id}} is text or bigint, as `holdfast-relay migrate --ids` says. A table
-- flash_sale_item that exists already is taken over and gets the columns that it lacks.

-- One row an item: what may be sold, and how many units are reserved or paid. People may change quantity.
CREATE TABLE IF NOT EXISTS flash_sale_item (
  item_id  {{id}}  PRIMARY KEY,
  quantity bigint  NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE flash_sale_item
  ADD COLUMN IF NOT EXISTS sold       bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS version    bigint,                    -- null: not Holdfast's yet
  ADD COLUMN IF NOT EXISTS sequence   bigint NOT NULL DEFAULT 0, -- of the item's last change
  ADD COLUMN IF NOT EXISTS state      text,                      -- DRAFT READY OPEN PAUSED CLOSED DROPPED
  ADD COLUMN IF NOT EXISTS price      bigint,
  ADD COLUMN IF NOT EXISTS currency   text,
  ADD COLUMN IF NOT EXISTS sale_id    text,
  ADD COLUMN IF NOT EXISTS product_id text,
  ADD COLUMN IF NOT EXISTS opens_at   timestamptz,
  ADD COLUMN IF NOT EXISTS closes_at  timestamptz,
  ADD COLUMN IF NOT EXISTS updated_at timestamptz,
  ADD CONSTRAINT flash_sale_item_sold CHECK (0 <= sold AND sold <= quantity);

-- Totals of versions that were followed by another one.
CREATE TABLE flash_sale_item_history (
  item_id  {{id}} NOT NULL,
  version  bigint NOT NULL,
  quantity bigint NOT NULL,
  sold     bigint NOT NULL,
  sequence bigint NOT NULL,
  state    text,
  price    bigint,
  currency text,
  sale_id  text,
  ended_at timestamptz NOT NULL,
  PRIMARY KEY (item_id, version)
);

-- One row a reservation, known outside by (item_id, version, order_id).
CREATE TABLE flash_sale_order (
  item_id     {{id}}  NOT NULL,
  version     bigint  NOT NULL,
  order_id    uuid    NOT NULL,
  user_id     {{id}}  NOT NULL,
  quantity    bigint  NOT NULL CHECK (quantity > 0),
  status      text    NOT NULL CHECK (status IN ('PENDING', 'PAID', 'EXPIRED', 'CANCELLED', 'REFUNDED')),
  exclusive   boolean NOT NULL,  -- the user may have one live order of the item
  price       bigint,
  currency    text,
  sale_id     text,
  sequence    bigint  NOT NULL,  -- of the reservation's last change
  lsn         bigint  NOT NULL,  -- of the same in the log
  reserved_at timestamptz NOT NULL,
  expires_at  timestamptz,       -- null: no deadline
  updated_at  timestamptz NOT NULL,
  PRIMARY KEY (item_id, version, order_id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX flash_sale_order_live ON flash_sale_order (item_id, version, user_id)
  WHERE exclusive AND status IN ('PENDING', 'PAID');

-- What happened, exactly as the log says: one row for each sequence number of an item's version, parked or not.
CREATE TABLE flash_sale_journal (
  item       text   NOT NULL, -- the name, percent-escaped where it is not printable
  version    bigint NOT NULL,
  sequence   bigint NOT NULL,
  lsn        bigint NOT NULL,
  event      text   NOT NULL, -- RESERVE CONFIRM RESUME RELEASE EXPIRE REFUND EXTEND, LOAD READY OPEN ...
  at         timestamptz NOT NULL,
  order_id   uuid,            -- of a reservation, or of an ADJUST
  user_id    text,
  quantity   bigint,          -- of a reservation; of an item's change the delta
  flags      smallint NOT NULL DEFAULT 0, -- 1 exclusive, 2 written off, 4 by the sale's window
  expires_at timestamptz,
  reason     text,
  available  bigint NOT NULL, -- counters after it
  reserved   bigint NOT NULL,
  confirmed  bigint NOT NULL,
  held       bigint NOT NULL,
  PRIMARY KEY (item, version, sequence)
);

-- How far the relay is; whoever has the highest epoch writes.
CREATE TABLE holdfast_cursor (
  sink       text PRIMARY KEY,
  log_id     uuid,
  lsn        bigint NOT NULL,
  mark       text   NOT NULL DEFAULT '', -- of log_id and lsn: whoever changes these by hand does not get it right
  epoch      bigint NOT NULL,
  owner      uuid   NOT NULL, -- of the process that has this epoch
  updated_at timestamptz NOT NULL
);
-- The tables are one sink's.
CREATE UNIQUE INDEX holdfast_cursor_one ON holdfast_cursor ((true));

-- Each item version that the relay has seen, with what it must know to go on at any LSN.
CREATE TABLE holdfast_item (
  number   bigint  PRIMARY KEY,   -- in the log
  item     text    NOT NULL,      -- the name, percent-escaped
  version  bigint  NOT NULL,
  item_id  {{id}},                -- null: the name is no number
  refused  text,                  -- why it has no row: bad_id, foreign_row, refused; null: it has one
  refused_words text,             -- what the database said
  total    bigint  NOT NULL,      -- as the server last had it
  sequence bigint  NOT NULL,      -- of its last change
  begins   bigint  NOT NULL DEFAULT 0, -- what the tables began with: the journal has the sequences after it
  sold_before bigint NOT NULL DEFAULT 0, -- sold of the row that was taken over, or, of an item without one, will be
  kept_quantity bigint NOT NULL DEFAULT 0, -- what people changed of quantity in the row that was put aside, of an item without one
  live     boolean NOT NULL,      -- can still change
  facts    jsonb   NOT NULL,
  UNIQUE (item, version)
) WITH (fillfactor = 50);
CREATE INDEX holdfast_item_id ON holdfast_item (item_id);
CREATE INDEX holdfast_item_live ON holdfast_item (number) WHERE live;

-- What the tables did not take: a reservation with all that has happened to it since, or a change of stock.
CREATE TABLE holdfast_parked (
  number         bigint NOT NULL, -- of the item
  item           text   NOT NULL,
  version        bigint NOT NULL,
  key            text   NOT NULL, -- order id, adjust:<id>, or sequence:<n>
  reason         text   NOT NULL CHECK (reason IN ('no_room', 'duplicate_live', 'bad_id', 'foreign_row', 'refused')),
  detail         text   NOT NULL, -- refused: in the database's words
  state          text   NOT NULL CHECK (state IN ('parked', 'resolved', 'cancelled')),
  told           text,            -- the state that the server was last told
  cancel         text CHECK (cancel IN ('return', 'write-off')), -- how a person is ending it
  user_id        text,            -- null: a change of stock
  quantity       bigint,
  exclusive      boolean,
  price          bigint,
  currency       text,
  sale_id        text,
  reserved_at    timestamptz,
  expires_at     timestamptz,
  from_status    text,            -- of the row that it would change; null: it would be a new row
  to_status      text,            -- what the row would be now
  stock_delta    bigint NOT NULL, -- what it would change quantity by
  first_sequence bigint NOT NULL,
  last_sequence  bigint NOT NULL,
  last_lsn       bigint NOT NULL,
  parked_at      timestamptz NOT NULL,
  changed_at     timestamptz NOT NULL,
  PRIMARY KEY (number, key, first_sequence)
);
CREATE UNIQUE INDEX holdfast_parked_open ON holdfast_parked (number, key) WHERE state = 'parked';
CREATE INDEX holdfast_parked_untold ON holdfast_parked (changed_at) WHERE told IS DISTINCT FROM state;
-- What ended long ago is removed.
CREATE INDEX holdfast_parked_ended ON holdfast_parked (changed_at) WHERE state <> 'parked';

-- What people and tools changed, and why.
CREATE TABLE holdfast_audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL DEFAULT now(),
  actor   text NOT NULL DEFAULT session_user,
  action  text NOT NULL,
  item    text,
  version bigint,
  key     text,
  before  jsonb,
  after   jsonb,
  note    text
);
