/* The record of the view, and how it changes. On real nodes this is Raft's state: one step at a
 * time, seen by each node later, in order. All of this runs inside d_step. */

/* A view is one number: epoch, nodes with an ended membership that may lead yet, then the ring,
 * the master first: node (3: nobody), in sync or joining, which membership of that node. */
#define EPOCH(v) ((v) & 7)
#define ENDED(v) (((v) >> 3) & 7)
#define SLOT(v, i) (((v) >> (6 + 2 * (i))) & 3)
#define IN_SYNC(v, i) (((v) >> (14 + (i))) & 1)
#define MEMBERSHIP(v, i) (((v) >> (18 + 3 * (i))) & 7)
/* Where a node stands on the ring; 3: nowhere. Nobody is in sync or has a membership there. */
#define PLACE(v, k) \
  (SLOT(v, 0) == (k) -> 0 : (SLOT(v, 1) == (k) -> 1 : (SLOT(v, 2) == (k) -> 2 : 3)))
#define MASTER(v) (IN_SYNC(v, 0) -> SLOT(v, 0) : NOBODY)
#define LED(v) (ENDED(v) == 0)

/* The view while it is changed. */
hidden byte d_epoch, d_ended, d_count, d_place, d_i;
hidden byte d_node[4], d_in_sync[4], d_membership[4];
hidden byte d_first, admitted;

inline view_open() {
  d_epoch = EPOCH(view[revision]);
  d_ended = ENDED(view[revision]);
  d_count = 0;
  do
  :: d_count < 3 && SLOT(view[revision], d_count) != NOBODY ->
    d_node[d_count] = SLOT(view[revision], d_count);
    d_in_sync[d_count] = IN_SYNC(view[revision], d_count);
    d_membership[d_count] = MEMBERSHIP(view[revision], d_count);
    d_count++
  :: else -> break
  od
}

inline view_take_out(k) {
  d_place = 0;
  do
  :: d_place < d_count && d_node[d_place] != k -> d_place++
  :: else -> break
  od;
  do
  :: d_place + 1 < d_count ->
    d_node[d_place] = d_node[d_place + 1];
    d_in_sync[d_place] = d_in_sync[d_place + 1];
    d_membership[d_place] = d_membership[d_place + 1];
    d_place++
  :: d_place + 1 == d_count -> d_count--; break
  :: else -> break
  od
}

/* At a place, with a new membership unless one is given. */
inline view_put_in(k, where, sync, which) {
  d_i = d_count;
  do
  :: d_i > where ->
    d_node[d_i] = d_node[d_i - 1];
    d_in_sync[d_i] = d_in_sync[d_i - 1];
    d_membership[d_i] = d_membership[d_i - 1];
    d_i--
  :: else -> break
  od;
  d_node[where] = k;
  d_in_sync[where] = sync;
  if
  :: which != 0 -> d_membership[where] = which
  :: else ->
    assert(memberships[k] < 7); /* the model's own bound */
    memberships[k]++;
    d_membership[where] = memberships[k]
  fi;
  d_count++
}

/* A life's end (4a.2). A member in sync stays named; the next in sync is master of a new epoch. */
inline view_end_life(k) {
  d_place = PLACE(view[revision], k);
  if
  :: d_place < 3 && d_in_sync[d_place] ->
    d_first = (d_place == 0);
    view_take_out(k);
#ifdef M_ENDED_OUT
    if
    :: d_count > 0 && d_in_sync[0]
    :: else -> d_ended = d_ended | BIT(k)
    fi;
#else
    d_ended = d_ended | BIT(k);
#endif
    marked = revision + 1;
    if
    :: d_first && d_count > 0 && d_in_sync[0] ->
#ifndef M_SAME_EPOCH
      d_epoch++
#endif
    :: else
    fi
  :: d_place < 3 && !d_in_sync[d_place] -> view_take_out(k)
  :: else
  fi
}

#define VACANT (d_count == 0 || !d_in_sync[0])

/* A vacant queue is led by a node that has an ended membership and is up (4a.3). `back`: the node
 * that has just come back. */
inline view_fill_vacancy(k, back) {
  if
#ifdef M_FILL_AT_RETURN
  :: VACANT && alive[k] && HAS_BIT(d_ended, k) && back == k ->
#else
  :: VACANT && alive[k] && HAS_BIT(d_ended, k) ->
#endif
    view_take_out(k);
    view_put_in(k, 0, 1, 0);
    d_ended = d_ended & ~BIT(k);
    d_epoch++;
    marked = revision + 1;
    /* What was committed and not confirmed may be lost here. */
    committed_log = FIRST(log[k], stored[k]);
    committed_number = stored[k];
    lossy_epoch = d_epoch
  :: else
  fi
}

/* A node that is up and has no membership joins, last. One that may have to lead, should the
 * present master not lead after all, waits with that. */
inline view_place(k) {
  if
#ifdef M_JOIN_EARLY
  :: !VACANT && alive[k] && d_node[0] != k && (d_count < 2 || d_node[1] != k) &&
     (d_count < 3 || d_node[2] != k) ->
#else
  :: !VACANT && alive[k] && !HAS_BIT(d_ended, k) && d_node[0] != k &&
     (d_count < 2 || d_node[1] != k) && (d_count < 3 || d_node[2] != k) ->
#endif
    view_put_in(k, d_count, 0, 0)
  :: else
  fi
}

/* The changed view becomes the present one. */
inline view_close(back) {
  view_fill_vacancy(0, back);
  view_fill_vacancy(1, back);
  view_fill_vacancy(2, back);
  view_place(0);
  view_place(1);
  view_place(2);
  revision++;
  assert(revision < REVISIONS && d_epoch < 8); /* the model's own bounds */
  view[revision] = d_epoch | (d_ended << 3) | (3 << 12);
  d_i = 0;
  do
  :: d_i < 3 ->
    if
    :: d_i < d_count ->
      view[revision] = view[revision] | (d_node[d_i] << (6 + 2 * d_i)) |
        (d_in_sync[d_i] << (14 + d_i)) | (d_membership[d_i] << (18 + 3 * d_i))
    :: else -> view[revision] = view[revision] | (3 << (6 + 2 * d_i))
    fi;
    d_i++
  :: else -> break
  od;
#ifndef M_NO_COMPARE
  admissions = 0; /* compare and set: what was proposed for the former view never happens (GM9) */
#endif
}

/* A member that joins is in sync from here on: behind those that were. */
inline view_admit(k) {
  d_place = PLACE(view[revision], k);
  if
  :: d_place < 3 && !d_in_sync[d_place] ->
    admitted = d_membership[d_place];
    view_take_out(k);
    d_place = 0;
    do
    :: d_place < d_count && d_in_sync[d_place] -> d_place++
    :: else -> break
    od;
    view_put_in(k, d_place, 1, admitted)
  :: else
  fi
}
