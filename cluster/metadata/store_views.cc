// The store's part that knows who has the copies of mirrored queues and who leads: what a life's
// end and a node's return mean for them, what masters ask for, and the steps of placement.
#include <algorithm>
#include <utility>

#include "cluster/metadata/mirror_placement.h"
#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

namespace {

using Members = std::vector<QueueMember>;

Members::iterator member_on(QueueView& view, NodeId node) {
  return std::find_if(view.members.begin(), view.members.end(),
                      [node](const QueueMember& one) { return one.node == node; });
}

// Members in sync come before those that join.
Members::iterator first_joining(QueueView& view) {
  return std::find_if(view.members.begin(), view.members.end(),
                      [](const QueueMember& one) { return !one.in_sync; });
}

bool anybody_in_sync(const QueueView& view) {
  return !view.members.empty() && view.members.front().in_sync;
}

bool has_member(const QueueRecord& record, NodeId node) {
  return record.view != nullptr &&
         std::any_of(record.view->members.begin(), record.view->members.end(),
                     [node](const QueueMember& one) { return one.node == node; });
}

std::optional<Mirrors> wish_of(const QueueRecord& record) {
  if (record.exclusive()) return std::nullopt;
  return wanted_mirrors(record.options, record.policy.get());
}

}  // namespace

std::uint64_t Store::last_mark() const { return state_->last_mark; }

bool Store::awaits_lead(NodeId id) const {
  const NodeEntry* entry = state_->node(id);
  return entry != nullptr && entry->unled > 0;
}

// --- changing a view -----------------------------------------------------------------------------

void Store::State::tally(const QueueRecord& record, bool more) {
  const auto count = [more](std::size_t& number) { more ? ++number : --number; };
  NodeEntry& home = nodes.at(record.home);
  count(home.masters);
  if (record.view == nullptr) return count(home.queues_of_shard[record.shard.value]);
  for (const QueueMember& member : record.view->members) {
    count(nodes.at(member.node).queues_of_shard[member.shard.value]);
  }
  if (!record.view->vacant() && !record.view->led()) count(home.unled);
}

void Store::State::replace_queue(Vhost& where, QueueEntry& entry, QueueRecord record) {
  tally(*entry.record, false);
  tally(record, true);
  put_queue(where, entry, std::move(record));
}

void Store::State::put_queue(Vhost& where, QueueEntry& entry, QueueRecord wanted) {
  ++version;
  const bool mirrored = entry.record->view != nullptr || wanted.view != nullptr;
  const auto record = std::make_shared<const QueueRecord>(std::move(wanted));
  replace_record(where.queues, entry, record);
  for (Observer* observer : observers) {
    mirrored ? observer->queue_changed(record) : observer->queue_moved(record);
  }
}

void Store::State::set_view(Vhost& where, QueueEntry& entry, QueueView view) {
  ++view.revision;
  QueueRecord record = *entry.record;
  record.home = view.members.front().node;
  record.shard = view.members.front().shard;
  record.last_epoch = 0;
  record.last_revision = 0;
  record.view = std::make_shared<const QueueView>(std::move(view));
  replace_queue(where, entry, std::move(record));
}

void Store::State::mark(QueueView& view) { view.marked = ++last_mark; }

// No mastership changes but into another epoch. Who became master attests that anew.
void Store::State::lead(QueueView& view, std::size_t at) {
  const auto begin = view.members.begin();
  const auto place = begin + static_cast<std::ptrdiff_t>(at);
  std::rotate(begin, place, place + 1);
  ++view.epoch;
  if (!view.led()) mark(view);
}

// Somebody who has a whole copy, and lives, leads. One whose life has ended has on its disk what is
// persistent, and its node may have come back, with a life in which it leads.
void Store::State::fill_vacancy(QueueView& view, bool durable) {
  if (!view.vacant()) return;
  for (std::size_t at = 0; at < view.members.size(); ++at) {
    if (view.members[at].in_sync && !view.members[at].ended) return lead(view, at);
  }
  if (!durable) return;
  for (std::size_t at = 0; at < view.members.size(); ++at) {
    QueueMember& member = view.members[at];
    const NodeRecord& of = *nodes.at(member.node).record;
    if (!member.ended || !of.up) continue;
    member.ended = false;
    member.life = of.life;
    member.joined = view.revision + 1;
    return lead(view, at);
  }
}

// --- the life of a queue -------------------------------------------------------------------------

std::vector<PlacementNode> Store::State::placement_nodes() const {
  std::vector<PlacementNode> list;
  list.reserve(nodes.size());
  for (const auto& [id, entry] : nodes) {
    list.push_back({id, entry.record->name, entry.record->up, entry.copies()});
  }
  std::sort(list.begin(), list.end(),
            [](const PlacementNode& a, const PlacementNode& b) { return a.name < b.name; });
  return list;
}

QueueMember Store::State::new_member(NodeId id, std::uint64_t revision, bool in_sync) {
  const NodeEntry& entry = nodes.at(id);
  return {id, entry.record->life, emptiest_shard(entry), revision, in_sync, false};
}

std::shared_ptr<const QueueView> Store::State::first_view(const QueueRecord& record) {
  const std::optional<Mirrors> wish = wish_of(record);
  if (!wish) return nullptr;
  auto view = std::make_shared<QueueView>();
  view->members.push_back(
      {record.home, nodes.at(record.home).record->life, record.shard, 1, true, false});
  for (const NodeId id : first_mirrors(*wish, record.home, placement_nodes())) {
    view->members.push_back(new_member(id, 1, true));
  }
  return view;
}

// Where its home is down the queue stays vacant until that is back.
void Store::State::begin_view(Vhost& where, QueueEntry& entry) {
  const QueueRecord& record = *entry.record;
  const NodeRecord& home = *nodes.at(record.home).record;
  QueueView view;
  view.epoch = record.last_epoch + 1;
  view.revision = record.last_revision;
  view.members.push_back({record.home, home.life, record.shard, view.revision + 1, true, !home.up});
  if (view.vacant()) mark(view);
  set_view(where, entry, std::move(view));
}

void Store::State::end_view(Vhost& where, QueueEntry& entry) {
  QueueRecord record = *entry.record;
  record.last_epoch = record.view->epoch;
  record.last_revision = record.view->revision;
  record.view = nullptr;
  replace_queue(where, entry, std::move(record));
}

bool Store::State::take_step(Vhost& where, QueueEntry& entry, const PlacementStep& step) {
  QueueView view = *entry.record->view;
  switch (step.kind) {
    case PlacementStepKind::kNone:
      return false;
    case PlacementStepKind::kUnmirror:
      end_view(where, entry);
      return false;
    case PlacementStepKind::kJoin:
      view.members.push_back(new_member(step.node, view.revision + 1, false));
      break;
    case PlacementStepKind::kLeave:
      view.members.erase(member_on(view, step.node));
      break;
    case PlacementStepKind::kLead:
      lead(view, static_cast<std::size_t>(member_on(view, step.node) - view.members.begin()));
      break;
  }
  set_view(where, entry, std::move(view));
  return true;
}

void Store::State::place(Vhost& where, QueueEntry& entry, const std::vector<NodeId>& former) {
  const std::optional<Mirrors> wish = wish_of(*entry.record);
  if (entry.record->view == nullptr) {
    if (!wish) return;
    begin_view(where, entry);
  }
  while (take_step(where, entry, next_step(wish, *entry.record->view, placement_nodes(), former))) {
  }
}

void Store::State::settle_queues() {
  const auto concerned = queues_if([](const QueueRecord& record) {
    return record.view != nullptr || record.policy != nullptr || record.options.mirrors ||
           record.options.type == QueueType::kQuorum;
  });
  for (const auto& [where, entry] : concerned) {
    const QueueRecord& record = *entry->record;
    if (record.view != nullptr && record.view->vacant()) {
      QueueView view = *record.view;
      fill_vacancy(view, record.durable);
      if (!view.vacant()) set_view(*where, *entry, std::move(view));
    }
    place(*where, *entry);
  }
}

// --- the lives of nodes --------------------------------------------------------------------------

void Store::State::end_memberships(NodeId id) {
  for (const auto& [where, entry] :
       queues_if([id](const QueueRecord& record) { return has_member(record, id); })) {
    QueueView view = *entry->record->view;
    const auto member = member_on(view, id);
    if (member->ended) continue;  // with a former life
    if (member->in_sync) {
      member->ended = true;
      mark(view);
    } else {
      view.members.erase(member);
    }
    fill_vacancy(view, entry->record->durable);
    if (view.vacant() && !entry->record->durable) {
      drop_queue(*where, *entry);
      drop_orphans(*where);
    } else {
      set_view(*where, *entry, std::move(view));
      place(*where, *entry);
    }
  }
}

void Store::State::lose_memberships(NodeId id, const NodeEntry* successor) {
  for (const auto& [where, entry] :
       queues_if([id](const QueueRecord& record) { return has_member(record, id); })) {
    QueueView view = *entry->record->view;
    view.members.erase(member_on(view, id));
    if (!anybody_in_sync(view) && successor == nullptr) {
      drop_queue(*where, *entry);
      drop_orphans(*where);
      continue;
    }
    if (!anybody_in_sync(view)) {
      // What it had is lost. It is a queue still.
      const NodeId next = successor->record->id;
      view.members.insert(view.members.begin(), new_member(next, view.revision + 1, true));
      lead(view, 0);
    }
    set_view(*where, *entry, std::move(view));
  }
}

// --- commands ------------------------------------------------------------------------------------

CommandResult Store::State::apply(const LeadQueues& command) {
  const NodeEntry* leader = node(command.node);
  if (leader == nullptr) return {Outcome::kNoNode, nullptr, nullptr};
  CommandResult result{Outcome::kUnchanged, nullptr, nullptr, leader->record};
  const bool lives = leader->record->up && leader->record->life == command.life;
  if (!lives || leader->unled == 0) return result;
  const auto mine = queues_if([&command](const QueueRecord& record) {
    const QueueView* view = record.view.get();
    return view != nullptr && record.home == command.node && !view->vacant() && !view->led() &&
           view->marked <= command.up_to;
  });
  for (const auto& [where, entry] : mine) {
    QueueView view = *entry->record->view;
    std::vector<NodeId> former;
    std::erase_if(view.members, [&former](const QueueMember& member) {
      if (member.ended) former.push_back(member.node);
      return member.ended;
    });
    view.marked = 0;
    set_view(*where, *entry, std::move(view));
    place(*where, *entry, former);
    result.outcome = Outcome::kDone;
  }
  return result;
}

CommandResult Store::State::apply(const ChangeView& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  QueueEntry* entry = where->queues.find(command.name);
  if (entry == nullptr) return {Outcome::kUnchanged, nullptr, nullptr};
  const CommandResult unchanged{Outcome::kUnchanged, entry->record, nullptr};
  const QueueView* now = entry->record->view.get();
  if (entry->record->qid != command.qid || now == nullptr || now->vacant() ||
      now->epoch != command.epoch || now->revision != command.revision) {
    return unchanged;
  }
  QueueView view = *now;
  const auto found = member_on(view, command.node);
  if (found == view.members.end() || found->life != command.life || found->ended) return unchanged;
  const bool admit = command.kind == ViewChangeKind::kAdmit;
  // The master stays: who is to lead in its place is not for it to say so.
  if (found->in_sync == admit || found == view.members.begin()) return unchanged;
  QueueMember member = *found;
  view.members.erase(found);
  member.in_sync = admit;
  if (admit) {
    view.members.insert(first_joining(view), member);
  } else {
    member.joined = view.revision + 1;
    view.members.push_back(member);
  }
  set_view(*where, *entry, std::move(view));
  place(*where, *entry);
  return {Outcome::kDone, entry->record, nullptr};
}

CommandResult Store::State::apply(const TransferQueue& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  QueueEntry* entry = where->queues.find(command.name);
  if (entry == nullptr) return {Outcome::kUnchanged, nullptr, nullptr};
  if (entry->record->qid != command.qid) return {Outcome::kUnchanged, entry->record, nullptr};
  if (entry->record->view == nullptr) return {Outcome::kNoNode, entry->record, nullptr};
  QueueView view = *entry->record->view;
  if (view.vacant() || !view.led()) return {Outcome::kNotReady, entry->record, nullptr};
  const auto member = member_on(view, command.node);
  if (member == view.members.end() || !member->in_sync) {
    return {Outcome::kNoNode, entry->record, nullptr};
  }
  if (member == view.members.begin()) return {Outcome::kUnchanged, entry->record, nullptr};
  lead(view, static_cast<std::size_t>(member - view.members.begin()));
  set_view(*where, *entry, std::move(view));
  place(*where, *entry);
  return {Outcome::kDone, entry->record, nullptr};
}

}  // namespace ringtail::cluster::metadata
