/* Views, the ring, commit, promotion, eviction and rejoining of one mirrored queue on three nodes.
 * README.md says what is modelled, what is not, and what each switch M_... breaks. */

#ifndef FAILURES
#define FAILURES 2
#endif
#ifndef ENTRIES
#define ENTRIES 1
#endif
#ifdef LATE
#define ROOM(from, to) (len(link[(from) * 3 + (to)]) == 0) /* one frame may be under way */
#else
#define ROOM(from, to) 1
#endif
#define REVISIONS 16
#ifndef REACH
#define REACH 0
#endif
#define LENGTH 7 /* of a log */
#define NOBODY 3

#define BIT(k) (1 << (k))
#define HAS_BIT(bits, k) (((bits) >> (k)) & 1)
#define LEAST(a, b) ((a) < (b) -> (a) : (b))

/* A log is one number: the epoch of each entry, three bits each, the first one lowest. An entry is
 * its position (epoch, number) and nothing else. */
#define AT(l, n) (((l) >> (3 * ((n) - 1))) & 7)
#define FIRST(l, n) ((l) & ((1 << (3 * (n))) - 1))
#define LAST(l) \
  ((l) < 1 -> 0 : ((l) < 8 -> 1 : ((l) < 64 -> 2 : ((l) < 512 -> 3 : ((l) < 4096 -> 4 : \
  ((l) < 32768 -> 5 : ((l) < 262144 -> 6 : 7)))))))

/* --- what must hold: see check() ------------------------------------------------------------- */
int committed_log = 1;     /* what anybody has committed, */
byte committed_number = 1; /* since this epoch: the last in which all members in sync had ended */
byte lossy_epoch;
int confirmed_log = 1;     /* what any publisher was told is safe */
byte confirmed_number = 1;

/* --- the directory (directory.pml) ------------------------------------------------------------ */
byte revision = 1;
int view[REVISIONS]; /* those that somebody has yet to see */
byte marked;         /* the revision at which a member ended last, or a master became that */
bit alive[3];        /* the directory holds that the node's present life goes on */
byte memberships[3]; /* of that node, so far */
byte admissions;     /* bits: proposed for the present revision */

/* --- the nodes -------------------------------------------------------------------------------- */
bit up[3];          /* the process runs; also where the directory holds that its life has ended */
bit gone[3];        /* it never comes back */
byte seen[3];       /* the revision of the view that it knows */
byte membership[3]; /* which one it is; 0: none */
int log[3];
byte committed[3];
byte stored[3];     /* on its disk; only what is committed (GM6) */
byte matched[3];    /* with the log of its epoch's origin, + 1; 0: unknown (GM5) */
bit complete[3];    /* lacks nothing older (GM8); on its disk too */
/* The master's account: index master * 3 + member. */
byte p_matched[9];
byte p_stored[9];
bit p_complete[9];
byte counted_too[3]; /* bits: proposed for admission (GM9) */

byte failures;
byte entries;

#include "directory.pml"

mtype = { hand_on, begins_here, report };
/* kind, epoch, membership of sender, of receiver, previous or matched, last or stored, committed or
 * complete, the sender's log up to last */
#ifdef LATE
chan link[9] = [1] of { mtype, byte, byte, byte, byte, byte, byte, int };
#endif

hidden mtype m_kind;
hidden byte m_epoch, m_from, m_to, m_a, m_b, m_c;
hidden int m_log;
hidden byte x1, x2, x3, place, peer;
hidden byte fresh;

#define VIEW(k) view[seen[k]]
#define TAKES_PART(k) (up[k] && membership[k] != 0)
#define IS_MASTER(k) (TAKES_PART(k) && MASTER(VIEW(k)) == k)
#define RIGHT(k) SLOT(VIEW(k), PLACE(VIEW(k), k) + 1)
#ifdef M_GM6
#define COUNTS(v, i, too) (i < 2 && SLOT(v, i) != NOBODY && IN_SYNC(v, i))
#else
#define COUNTS(v, i, too) (SLOT(v, i) != NOBODY && (IN_SYNC(v, i) || HAS_BIT(too, SLOT(v, i))))
#endif

/* --- the properties --------------------------------------------------------------------------- */

#define HAS_CONFIRMED(l, upto) \
  (confirmed_number <= (upto) && FIRST(l, confirmed_number) == confirmed_log)

inline check_node(k) {
  place = PLACE(view[revision], k);
  if
  :: place < 3 && IN_SYNC(view[revision], place) ->
    /* S1: whoever may lead has all that was confirmed, in the same place, and on its disk. */
    assert(HAS_CONFIRMED(log[k], stored[k]));
    assert(complete[k]); /* 4a.8 */
    /* S5: in sync: it has all that is committed. */
    assert(!up[k] || FIRST(log[k], committed_number) == committed_log)
  :: else
  fi;
  if
  :: HAS_BIT(ENDED(view[revision]), k) ->
    /* S1 with 4a.3: one that has ended may lead yet. */
    assert(HAS_CONFIRMED(log[k], stored[k]));
    assert(complete[k])
  :: else
  fi
}

inline check() {
  check_node(0);
  check_node(1);
  check_node(2)
}

/* --- links ------------------------------------------------------------------------------------ */

/* What is under way to a process that ends is lost; what it had sent may yet arrive. */
#ifdef LATE
inline lose(l) {
  do
  :: len(link[l]) > 0 -> link[l]?m_kind, m_epoch, m_from, m_to, m_a, m_b, m_c, m_log
  :: else -> break
  od
}

inline send(from, to) {
  link[from * 3 + to]!m_kind, EPOCH(VIEW(from)), membership[from], membership[to], m_a, m_b, m_c,
    m_log
}

inline receive(k, from) {
  link[from * 3 + k]?m_kind, m_epoch, m_from, m_to, m_a, m_b, m_c, m_log;
  take(k, from)
}
#else
#define lose(l) skip
inline send(from, to) {
  m_epoch = EPOCH(VIEW(from));
  m_from = membership[from];
  m_to = membership[to];
  take(to, from)
}
#endif

/* --- reports ---------------------------------------------------------------------------------- */

inline take_report(k, from) {
  if
  :: p_matched[k * 3 + from] < m_a -> p_matched[k * 3 + from] = m_a
  :: else
  fi;
  if
  :: p_stored[k * 3 + from] < m_b -> p_stored[k * 3 + from] = m_b
  :: else
  fi;
  p_complete[k * 3 + from] = m_c
}

#ifdef M_GM5
#define MATCHED(k) LAST(log[k])
#define HAS_MATCHED(k) 1
#else
#define HAS_MATCHED(k) (matched[k] > 0)
#define MATCHED(k) (matched[k] - 1) /* GM5 */
#endif
#define TO_REPORT(k) LEAST(stored[k], MATCHED(k))
#define REPORTS(k, to) \
  (TAKES_PART(k) && HAS_MATCHED(k) && to != k && IS_MASTER(to) && MASTER(VIEW(k)) == to && \
   EPOCH(VIEW(to)) == EPOCH(VIEW(k)) && ROOM(k, to) && \
   MEMBERSHIP(VIEW(k), 0) == membership[to] && \
   MEMBERSHIP(VIEW(to), PLACE(VIEW(to), k)) == membership[k] && \
   (p_matched[to * 3 + k] < MATCHED(k) || p_stored[to * 3 + k] < TO_REPORT(k) || \
    p_complete[to * 3 + k] != complete[k]))

inline send_report(k, to) {
  m_kind = report;
  m_a = MATCHED(k);
  m_b = TO_REPORT(k);
  m_c = complete[k];
  m_log = 0;
#ifdef LATE
  send(k, to)
#else
  take_report(to, k)
#endif
}

/* What a member reports enables the master to do more, never less: so unless frames may be late it
 * does so at once, and the master takes its time. */
#ifdef LATE
#define report_all() skip
#define report_of(k) skip
#else
inline report_of(k) {
  if
  :: REPORTS(k, 0) -> send_report(k, 0)
  :: REPORTS(k, 1) -> send_report(k, 1)
  :: REPORTS(k, 2) -> send_report(k, 2)
  :: else
  fi
}

inline report_all() {
  report_of(0);
  report_of(1);
  report_of(2)
}
#endif

/* --- lives ------------------------------------------------------------------------------------ */

inline forget_progress(k) {
  x1 = 0;
  do
  :: x1 < 3 ->
    p_matched[k * 3 + x1] = 0;
    p_stored[k * 3 + x1] = 0;
    p_complete[k * 3 + x1] = 0;
    x1++
  :: else -> break
  od;
  counted_too[k] = 0
}

/* Views that everybody has seen are forgotten, and revisions counted from there. */
inline tidy() {
  x1 = revision;
  if
  :: up[0] && seen[0] < x1 -> x1 = seen[0]
  :: else
  fi;
  if
  :: up[1] && seen[1] < x1 -> x1 = seen[1]
  :: else
  fi;
  if
  :: up[2] && seen[2] < x1 -> x1 = seen[2]
  :: else
  fi;
  x1--;
  if
  :: x1 > 0 ->
    x2 = 1;
    do
    :: x2 + x1 <= revision -> view[x2] = view[x2 + x1]; x2++
    :: x2 + x1 > revision && x2 <= revision -> view[x2] = 0; x2++
    :: else -> break
    od;
    revision = revision - x1;
    marked = (marked > x1 -> marked - x1 : 0);
    if
    :: up[0] -> seen[0] = seen[0] - x1
    :: else
    fi;
    if
    :: up[1] -> seen[1] = seen[1] - x1
    :: else
    fi;
    if
    :: up[2] -> seen[2] = seen[2] - x1
    :: else
    fi
  :: else
  fi
}

/* What is not on the disk is gone. */
inline end_process(k) {
  up[k] = 0;
  log[k] = FIRST(log[k], stored[k]);
  committed[k] = stored[k];
  matched[k] = 0;
  membership[k] = 0;
  seen[k] = 0;
  forget_progress(k);
  lose(k);
  lose(3 + k);
  lose(6 + k)
}

inline see_view(k, next) {
  fresh = (seen[k] == 0 || EPOCH(view[seen[k]]) != EPOCH(view[next]));
  x2 = MEMBERSHIP(view[next], PLACE(view[next], k));
  if
  :: fresh || x2 != membership[k] ->
    matched[k] = 0;
#ifdef M_GM7
    log[k] = FIRST(log[k], stored[k]);
    committed[k] = stored[k];
#endif
    forget_progress(k)
  :: else ->
    counted_too[k] = 0;
    x1 = 0;
    do
    :: x1 < 3 ->
      if
      :: MEMBERSHIP(view[next], PLACE(view[next], x1)) !=
         MEMBERSHIP(view[seen[k]], PLACE(view[seen[k]], x1)) ->
        p_matched[k * 3 + x1] = 0;
        p_stored[k * 3 + x1] = 0;
        p_complete[k * 3 + x1] = 0
      :: else
      fi;
      x1++
    :: else -> break
    od
  fi;
  if
  :: x2 != membership[k] -> fresh = 1
  :: else
  fi;
  membership[k] = x2;
  seen[k] = next;
  if
  :: fresh && x2 != 0 && MASTER(view[next]) == k ->
    /* GM4: it begins its epoch. */
    append(k)
  :: else
  fi;
  tidy();
  report_all()
}

inline append(k) {
  x3 = LAST(log[k]);
  assert(x3 < LENGTH);
  log[k] = log[k] | (EPOCH(VIEW(k)) << (3 * x3));
  matched[k] = x3 + 2
}

/* --- the ring --------------------------------------------------------------------------------- */

/* The right neighbour would take a frame of this member's. Frames that it would pass over for ever
 * are not sent. */
#define MET(k, r) \
  (up[r] && membership[r] != 0 && ROOM(k, r) && \
   EPOCH(VIEW(r)) == EPOCH(VIEW(k)) && \
   MEMBERSHIP(VIEW(k), PLACE(VIEW(k), r)) == membership[r] && \
   PLACE(VIEW(r), r) > 0 && SLOT(VIEW(r), PLACE(VIEW(r), r) - 1) == k && \
   MEMBERSHIP(VIEW(r), PLACE(VIEW(r), k)) == membership[k])
#define LACKS(r, k) \
  (matched[r] < MAY_SEND(k) || committed[r] < LEAST(committed[k], matched[r] - 1))

/* Asking what the right neighbour has is one step here: the last position that both have. */
#ifdef M_GM3
#define MAY_SEND(k) (LAST(log[k]) + 1)
#else
#define MAY_SEND(k) matched[k] /* GM3 */
#endif

inline common(k, r) {
  x1 = 0;
  if
  :: matched[r] > 0 -> x1 = LEAST(matched[r], MAY_SEND(k)) - 1
  :: else ->
    do
    :: x1 + 1 < MAY_SEND(k) && AT(log[k], x1 + 1) == AT(log[r], x1 + 1) -> x1++
    :: else -> break
    od
  fi
}

inline send_entry(k, r) {
  common(k, r);
  if
  :: !complete[k] && x1 < committed[k] -> x1 = committed[k]; m_kind = begins_here; x2 = x1
  :: else -> m_kind = hand_on; x2 = LEAST(x1 + 1, MAY_SEND(k) - 1)
  fi;
  m_a = x1;
  m_b = x2;
  m_c = committed[k];
  m_log = FIRST(log[k], x2);
  send(k, r)
}

/* It keeps nothing that is committed for one that joins and lags. */
inline send_beginning(k, r) {
  m_kind = begins_here;
  m_a = committed[k];
  m_b = m_a;
  m_c = m_a;
  m_log = FIRST(log[k], m_a);
  send(k, r)
}

#define HANDS_ON(k, r) \
  (TAKES_PART(k) && MAY_SEND(k) > 0 && RIGHT(k) == r && MET(k, r) && LACKS(r, k))
#define MAY_BEGIN_LATE(k, r) \
  (TAKES_PART(k) && matched[k] > 0 && RIGHT(k) == r && MET(k, r) && complete[k] && \
   !IN_SYNC(VIEW(k), PLACE(VIEW(k), r)) && LAST(log[r]) < committed[k])
/* It is brought all that is older: one step. */
#define BROUGHT_BY(k, from) \
  (TAKES_PART(k) && !complete[k] && matched[k] > 0 && IS_MASTER(from) && \
   MASTER(VIEW(k)) == from && EPOCH(VIEW(from)) == EPOCH(VIEW(k)))

inline begin_behind_gap(k) {
  log[k] = FIRST(m_log, m_a);
  committed[k] = m_a;
  stored[k] = m_a;
  matched[k] = m_a + 1;
  complete[k] = 0;
  check()
}

/* GM7. Nobody in sync comes here. One that joins keeps aside what differs, also on its disk. */
inline diverge(k) {
  assert(REACH != 4);
  assert(!IN_SYNC(VIEW(k), PLACE(VIEW(k), k)));
  committed[k] = m_a;
  stored[k] = LEAST(stored[k], m_a)
}

#define HAS_OF_ORIGIN(k, n) \
  ((n) == 0 || (matched[k] > 0 && (n) < matched[k]) || AT(log[k], n) == AT(m_log, n))

inline take_frame(k) {
  if
  :: m_b > m_a && !HAS_OF_ORIGIN(k, m_b) ->
    if
    :: m_b <= committed[k] -> diverge(k)
    :: else
    fi;
#ifdef M_GM4
    if
    :: LAST(log[k]) >= m_b -> m_log = log[k]
    :: else
    fi;
#endif
    /* GM4 */
    log[k] = FIRST(log[k], m_a);
    assert(m_a == 0 || AT(m_log, m_b) >= AT(log[k], m_a));
    log[k] = log[k] | (AT(m_log, m_b) << (3 * m_a));
    check()
  :: else
  fi;
  if
  :: matched[k] < m_b + 1 -> matched[k] = m_b + 1
  :: else
  fi;
  if
  :: LEAST(m_c, matched[k] - 1) > committed[k] ->
    committed[k] = LEAST(m_c, matched[k] - 1);
    /* S4: what members hold to be committed is the same everywhere. */
    assert(EPOCH(VIEW(k)) < lossy_epoch ||
      (committed[k] <= committed_number &&
       FIRST(log[k], committed[k]) == FIRST(committed_log, committed[k])))
  :: else
  fi
}

#ifdef M_GM1
#define FORMER(k) 0
#define FROM_LEFT(k, from) 1
#else
#define FROM_LEFT(k, from) (place > 0 && SLOT(VIEW(k), place - 1) == from)
#define FORMER(k) (m_epoch != EPOCH(VIEW(k)))
#endif
#ifdef M_GM2
#define ANOTHER(k, from) 0
#elif defined(M_GM1)
#define ANOTHER(k, from) (m_to != membership[k])
#else
#define ANOTHER(k, from) \
  (m_to != membership[k] || m_from != MEMBERSHIP(VIEW(k), PLACE(VIEW(k), from)))
#endif
#define PASSED_OVER(k, from) (FORMER(k) || ANOTHER(k, from)) /* GM1, GM2 */

inline take(k, from) {
  place = PLACE(VIEW(k), k);
  if
  :: !TAKES_PART(k) || PASSED_OVER(k, from)
  :: else ->
    if
    :: m_kind == report && MASTER(VIEW(k)) == k ->
      take_report(k, from)
    :: m_kind != report && FROM_LEFT(k, from) ->
      if
      :: HAS_OF_ORIGIN(k, m_a) ->
        /* GM5 */
        assert(FIRST(log[k], m_a) == FIRST(m_log, m_a));
        take_frame(k)
      :: !HAS_OF_ORIGIN(k, m_a) && m_kind == begins_here && !IN_SYNC(VIEW(k), place) ->
        begin_behind_gap(k) /* GM8 */
      :: else
      fi
    :: else
    fi
  fi
}

/* --- the master ------------------------------------------------------------------------------- */

#ifdef M_CONFIRM
#define ON_DISK(k) committed[k]
#define STORED_LEAST(k) skip
#define STORED_BY(k, i) 1
#else
#define ON_DISK(k) stored[k]
#define STORED_LEAST(k) x2 = LEAST(x2, p_stored[k * 3 + x3])
#define STORED_BY(k, i) (!COUNTS(VIEW(k), i, counted_too[k]) || SLOT(VIEW(k), i) == k || \
  p_stored[k * 3 + SLOT(VIEW(k), i)] > confirmed_number)
#endif

/* How far all that count have all entries, and have them on their disks: x1, x2 (GM6, GM9). */
inline least_of_all(k) {
  x1 = 7;
  x2 = 7;
  place = 0;
  do
  :: place < 3 ->
    if
    :: COUNTS(VIEW(k), place, counted_too[k]) ->
      x3 = SLOT(VIEW(k), place);
      if
      :: x3 == k -> x1 = LEAST(x1, matched[k] - 1); x2 = LEAST(x2, ON_DISK(k))
      :: else -> x1 = LEAST(x1, p_matched[k * 3 + x3]); STORED_LEAST(k)
      fi
    :: else
    fi;
    place++
  :: else -> break
  od
}

#define MATCHED_BY(k, i) (!COUNTS(VIEW(k), i, counted_too[k]) || SLOT(VIEW(k), i) == k || \
  p_matched[k * 3 + SLOT(VIEW(k), i)] > committed[k])
#define CAN_COMMIT(k) (matched[k] - 1 > committed[k] && MATCHED_BY(k, 0) && MATCHED_BY(k, 1) && \
  MATCHED_BY(k, 2))
#define CAN_CONFIRM(k) (ON_DISK(k) > confirmed_number && STORED_BY(k, 0) && STORED_BY(k, 1) && \
  STORED_BY(k, 2))
#ifdef M_NO_LEAD
#define MAY_COMMIT(k) 1
#else
#define MAY_COMMIT(k) LED(VIEW(k)) /* GM11 */
#endif

inline commit(k) {
  least_of_all(k);
  if
  :: x1 > committed[k] ->
    committed[k] = x1;
    /* S3: one master commits in an epoch. */
    x3 = 0;
    do
    :: x3 < 3 ->
      assert(x3 == k || !IS_MASTER(x3) || EPOCH(VIEW(x3)) != EPOCH(VIEW(k)));
      x3++
    :: else -> break
    od;
    if
    :: EPOCH(VIEW(k)) >= lossy_epoch ->
      /* S3, S4: there is one sequence of what is committed, whoever commits and whenever. */
      x3 = LEAST(x1, committed_number);
      assert(FIRST(log[k], x3) == FIRST(committed_log, x3));
      if
      :: x1 > committed_number -> committed_number = x1; committed_log = FIRST(log[k], x1)
      :: else
      fi
    :: else
    fi
  :: else
  fi;
  if
  :: x2 > confirmed_number ->
    /* What has to be seen to happen: a master that was promoted confirms; one that led after all
     * had ended does; one does with a member that has come back. */
    assert(REACH != 1 || EPOCH(VIEW(k)) == 1 || lossy_epoch != 0);
    assert(REACH != 2 || lossy_epoch == 0);
    assert(REACH != 3 || lossy_epoch != 0 || !IN_SYNC(VIEW(k), 2) || MEMBERSHIP(VIEW(k), 2) == 1);
    /* S1 */
    assert(FIRST(log[k], confirmed_number) == confirmed_log);
    confirmed_number = x2;
    confirmed_log = FIRST(log[k], x2)
  :: else
  fi
}

#ifdef M_4A8
#define STORED_ENOUGH(k, who) 1
#else
#define STORED_ENOUGH(k, who) (p_stored[k * 3 + who] >= stored[k])
#endif

/* Only who has committed an entry of its own epoch knows all that was committed before (GM9). */
#ifdef M_ADMIT_EARLY
#define KNOWS_COMMITTED(k) 1
#else
#define KNOWS_COMMITTED(k) (AT(log[k], committed[k]) == EPOCH(VIEW(k)))
#endif

#ifdef M_GM8
#define COMPLETE_ENOUGH(k, who) 1
#else
#define COMPLETE_ENOUGH(k, who) p_complete[k * 3 + who]
#endif

#define CAN_ADMIT(k, who) \
  (IS_MASTER(k) && LED(VIEW(k)) && KNOWS_COMMITTED(k) && PLACE(VIEW(k), who) < 3 && \
   !IN_SYNC(VIEW(k), PLACE(VIEW(k), who)) && !HAS_BIT(counted_too[k], who) && \
   COMPLETE_ENOUGH(k, who) && p_matched[k * 3 + who] >= committed[k] && STORED_ENOUGH(k, who))

inline propose_admission(k, who) {
#ifndef M_GM9
  counted_too[k] = counted_too[k] | BIT(who);
#endif
  if
  :: seen[k] == revision -> admissions = admissions | BIT(who)
  :: else
  fi
}

#define LEADS_NOW(k) \
  (alive[k] && MASTER(view[revision]) == k && MEMBERSHIP(view[revision], 0) == membership[k] && \
   EPOCH(view[revision]) == EPOCH(VIEW(k)))

#ifdef M_DISK
#define MAY_STORE(k) LAST(log[k])
#else
#define MAY_STORE(k) committed[k] /* GM6 */
#endif

/* --- everything that a node can do, or that can happen to it ---------------------------------- */

proctype Node(byte me, one, other) {
end: do
  :: d_step { up[me] && seen[me] < revision -> peer = seen[me] + 1; see_view(me, peer); skip }
  :: d_step { IS_MASTER(me) && entries < ENTRIES -> append(me); entries++ }

  :: d_step { HANDS_ON(me, one) -> send_entry(me, one); report_of(one); skip }
  :: d_step { HANDS_ON(me, other) -> send_entry(me, other); report_of(other); skip }
#ifndef NO_GAPS
  :: d_step { MAY_BEGIN_LATE(me, one) -> send_beginning(me, one); report_of(one); skip }
  :: d_step { MAY_BEGIN_LATE(me, other) -> send_beginning(me, other); report_of(other); skip }
#endif
#ifdef LATE
  :: d_step { len(link[one * 3 + me]) > 0 -> receive(me, one); skip }
  :: d_step { len(link[other * 3 + me]) > 0 -> receive(me, other); skip }
#endif
#ifdef LATE
  :: d_step { REPORTS(me, one) -> send_report(me, one); skip }
  :: d_step { REPORTS(me, other) -> send_report(me, other); skip }
#endif
  :: d_step { up[me] && stored[me] < MAY_STORE(me) -> stored[me]++; report_of(me); skip }
  :: d_step { BROUGHT_BY(me, one) || BROUGHT_BY(me, other) -> complete[me] = 1; report_of(me); skip }

  :: d_step { IS_MASTER(me) && MAY_COMMIT(me) && (CAN_COMMIT(me) || CAN_CONFIRM(me)) ->
      commit(me); check() }
  :: d_step { CAN_ADMIT(me, one) -> propose_admission(me, one) }
  :: d_step { CAN_ADMIT(me, other) -> propose_admission(me, other) }
  /* The directory agrees; the proposal may also be lost. */
  :: d_step { HAS_BIT(admissions, me) ->
      admissions = admissions & ~BIT(me);
      view_open(); view_admit(me); view_close(NOBODY); check() }
  /* Its master has this one evicted. */
  :: d_step { failures < FAILURES && PLACE(view[revision], me) > 0 &&
        IN_SYNC(view[revision], PLACE(view[revision], me)) && up[MASTER(view[revision])] &&
        seen[MASTER(view[revision])] == revision ->
      failures++; view_open(); view_take_out(me); view_close(NOBODY); check() }
  /* It lives and leads: those that have ended are out for good. */
  :: d_step { IS_MASTER(me) && !LED(VIEW(me)) && LEADS_NOW(me) && !LED(view[revision]) &&
        marked <= seen[me] ->
      view_open(); d_ended = 0; view_close(NOBODY); check() }

  /* The process ends, to come back or not. */
  :: d_step { up[me] && failures < FAILURES -> failures++; end_process(me); tidy(); check() }
#ifdef GONE
  :: d_step { up[me] && failures < FAILURES && !gone[0] && !gone[1] && !gone[2] ->
      failures++; gone[me] = 1; end_process(me); tidy(); check() }
#endif
  /* The directory finds that the life has ended: it has, or the node is cut off. */
#ifdef NO_CUTS
#define CUT_OFF 0
#else
#define CUT_OFF (failures < FAILURES)
#endif
  :: d_step { alive[me] && (!up[me] || CUT_OFF) ->
      if
      :: up[me] -> failures++
      :: else
      fi;
      alive[me] = 0; view_open(); view_end_life(me); view_close(NOBODY); check() }
  /* Another life, with what is on the disk. */
  :: d_step { (!up[me] && !gone[me]) || (up[me] && !alive[me]) ->
      end_process(me);
      view_open();
#ifndef M_4A2
      if
      :: alive[me] -> view_end_life(me)
      :: else
      fi;
#endif
      alive[me] = 1;
      up[me] = 1;
      view_close(me);
      see_view(me, revision);
      check() }
  od
}

#ifdef POWER
bit dark;

#define ALL_END(stays) \
  d_step { !dark && failures < FAILURES && up[0] && up[1] && up[2] && !gone[0] && !gone[1] && !gone[2] -> \
    failures++; dark = 1; end_process(0); end_process(1); end_process(2); \
    if \
    :: stays < 3 -> gone[stays] = 1 \
    :: else \
    fi; \
    tidy(); check() }

/* All lose power at once, once; one of them may never come back. */
active proctype Power() {
end: do
  :: ALL_END(3)
#ifdef GONE
  :: ALL_END(0)
  :: ALL_END(1)
  :: ALL_END(2)
#endif
  od
}
#endif

/* --- where nothing more can happen ------------------------------------------------------------ */

inline check_end(k) {
  if
  :: up[k] && MASTER(view[revision]) == NOBODY ->
    /* After one failure, be it of all at once, any two lead. */
    assert(FAILURES > 1);
    assert(!HAS_BIT(ENDED(view[revision]), k))
  :: up[k] && MASTER(view[revision]) != NOBODY ->
    x1 = MASTER(view[revision]);
    assert(LED(view[revision]) && seen[k] == revision);
    assert(IN_SYNC(view[revision], PLACE(view[revision], k)));
    assert(log[k] == log[x1] && entries == ENTRIES);
    assert(committed[k] == LAST(log[k]) && stored[k] == LAST(log[k]));
    assert(confirmed_number == LAST(log[k]))
  :: else
  fi
}

/* L1, L3, L5: when all has happened that can, whoever is up is in sync, unless nobody may lead, and
 * everything is confirmed. */
active proctype End() {
  timeout -> d_step { check_end(0); check_end(1); check_end(2) }
}

#define BEGIN(k) \
  up[k] = 1; alive[k] = 1; seen[k] = 1; membership[k] = 1; memberships[k] = 1; log[k] = 1; \
  committed[k] = 1; stored[k] = 1; matched[k] = 2; complete[k] = 1

init {
  atomic {
    BEGIN(0);
    BEGIN(1);
    BEGIN(2);
    view[1] = 1 | (0 << 6) | (1 << 8) | (2 << 10) | (3 << 12) | (7 << 14) | (1 << 18) |
      (1 << 21) | (1 << 24);
    p_matched[1] = 1; p_stored[1] = 1; p_complete[1] = 1;
    p_matched[2] = 1; p_stored[2] = 1; p_complete[2] = 1;
    run Node(0, 1, 2);
    run Node(1, 2, 0);
    run Node(2, 0, 1)
  }
}
