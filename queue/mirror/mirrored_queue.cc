#include "queue/mirror/mirrored_queue.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::queue {

using cluster::metadata::QueueMember;
using cluster::metadata::QueueRecord;
using cluster::metadata::QueueView;
using runtime::Address;
using runtime::letter_cast;
using runtime::LetterPtr;

namespace {

constexpr std::uint64_t kTickMs = 250;
constexpr std::uint64_t kAskAgainMs = 2000;

gm::RingView ring_of(const QueueView& view) {
  gm::RingView ring;
  ring.epoch = view.epoch;
  ring.revision = view.revision;
  ring.led = view.led();
  for (const QueueMember& member : view.members) {
    if (member.ended) continue;
    ring.members.push_back({{member.node, member.life, member.joined},
                            member.in_sync ? gm::Standing::kInSync : gm::Standing::kJoining});
  }
  return ring;
}

}  // namespace

MirroredQueue::MirroredQueue(const MirrorServices& services, RecordPtr record,
                             const gm::MemberId& self, std::unique_ptr<QueueProcess> process,
                             Origin origin)
    : services_(services),
      record_(std::move(record)),
      self_(self),
      address_{services.shard.node(), services.shard.id(), runtime::ActorId{record_->qid.value}},
      held_(services.stores != nullptr && services.stores->starting()),
      dormant_(origin == Origin::kDormant),
      process_(std::move(process)) {
  if (process_ != nullptr) process_->set_ring(this);
  services_.shard.add(address_.actor, *this);
  if (dormant_) {
    make_process();
    return;
  }
  const bool leads = ring_of(*record_->view).is_master(self_);
  if (process_ == nullptr) {
    if (leads) {
      make_process();
    } else {
      make_contents();
    }
  }
  make_member();
  apply_view();
}

MirroredQueue::~MirroredQueue() {
  process_.reset();
  if (!released_) services_.shard.remove(address_.actor);
}

void MirroredQueue::make_process() {
  MasterRing& ring = *this;
  process_ = std::make_unique<QueueProcess>(services_.shard, record_, services_.removals,
                                            services_.discard, services_.dead_letters,
                                            services_.stores, &ring);
}

void MirroredQueue::make_contents() {
  ContentsOwner& owner = *this;
  contents_ = std::make_unique<Contents>(services_.shard, stored_as(*record_, self_.joined),
                                         services_.stores, owner);
  if (joins()) contents_->set_next(0);
}

void MirroredQueue::make_member() {
  gm::MemberOptions options;
  options.ring = record_->qid.value;
  options.self = self_;
  gm::MemberOwner& owner = *this;
  gm::Directory& directory = *this;
  member_ = std::make_unique<gm::Member>(options, owner, directory, gm::Log(), 0, !joins());
  applied_ = stored_ = 0;
  kept_ = 0;
  unstored_.clear();
  joining_ = {};
}

bool MirroredQueue::joins() const {
  const auto& members = record_->view->members;
  return std::none_of(members.begin(), members.end(), [this](const QueueMember& one) {
    return one.in_sync && !one.ended && gm::MemberId{one.node, one.life, one.joined} == self_;
  });
}

// --- views --------------------------------------------------------------------------------------

void MirroredQueue::changed(RecordPtr record) {
  record_ = std::move(record);
  if (dormant_) return;
  if (process_ != nullptr) process_->changed(record_);
  apply_view();
}

void MirroredQueue::apply_view() {
  if (broken_ && !held_ && !joins()) ask_to_join_anew();  // the view that it asked of is not this
  if (broken_ || held_ || member_ == nullptr || record_->view->vacant()) return;
  const gm::RingView ring = ring_of(*record_->view);
  const bool leads = ring.is_master(self_);
  const bool new_epoch = ring.epoch != member_->view().epoch;
  if (!leads && process_ != nullptr) demote();
  if (broken_) return;
  member_->set_view(ring, now_ms());
  if (new_epoch) {
    serving_ = false;
    epoch_begins_ = member_->log().last().number;
    joining_.asked = false;
    kept_ = 0;
  }
  if (process_ != nullptr) {
    const bool has_joining = ring.members.back().standing == gm::Standing::kJoining;
    process_->keep_in_memory(has_joining);
    // Alone it commits what others kept it from committing.
    if (ring.members.size() == 1) mark_ = std::max(mark_, wanted_mark_);
  }
  look_at_timer();
  ask_turn();
}

void MirroredQueue::promote() {
  RT_CHECK(contents_ != nullptr, "a slave without contents");
  make_process();
  process_->take_over(*contents_, mark_);
  contents_.reset();
  wanted_mark_ = mark_;
  process_->serve();
  const bool has_joining = !record_->view->members.back().in_sync;
  process_->keep_in_memory(has_joining);
  runtime::log(runtime::LogLevel::kInfo, "mirror",
               "this node has the master of queue '{}' in vhost '{}' now, in epoch {}",
               record_->name, record_->vhost, record_->view->epoch);
}

// A new master is there. What was under way and is not in its log, channels send again.
void MirroredQueue::demote() {
  make_contents();
  const bool whole = process_->give_up(*contents_);
  process_.reset();
  producers_.forget_taken();
  writer_ = ChangesWriter();
  pending_.clear();
  pending_messages_ = pending_bytes_ = in_log_messages_ = 0;
  settling_.clear();
  marks_.clear();
  questions_.clear();
  mark_due_ = serving_ = false;
  if (whole) return;
  // Part of it is on the disk alone: it joins once more.
  contents_->erase();
  ask_to_join_anew();
}

// This copy is of no use as it is. It asks again with every view in which it is still in sync.
void MirroredQueue::ask_to_join_anew() {
  broken_ = true;
  const QueueView& view = *record_->view;
  propose({record_->qid.value, view.epoch, view.revision, gm::ViewChange::Kind::kEvict, self_});
}

void MirroredQueue::suspend(RecordPtr record) {
  record_ = std::move(record);
  awaited_.reset();
  if (dormant_) return;
  if (process_ != nullptr) demote();
  member_.reset();
}

// The node's life has gone on: as the master, with what the restart has found, or anew.
void MirroredQueue::wake(bool anew) {
  dormant_ = false;
  if (anew) {
    process_->removed();
    process_.reset();
    make_contents();
  } else {
    process_->changed(record_);
    process_->serve();
  }
}

void MirroredQueue::renew(RecordPtr record, const gm::MemberId& self) {
  record_ = std::move(record);
  if (dormant_ && held_) {
    awaited_ = self;  // the disk is still being read
    return;
  }
  if (process_ != nullptr && !dormant_) demote();
  self_ = self;
  const bool anew = broken_ || joins();
  broken_ = false;
  if (anew) {
    producers_.clear();
  } else {
    producers_.forget_taken();  // with the log of the former life
  }
  if (dormant_) {
    wake(anew);
  } else if (anew) {
    contents_->erase();
    make_contents();
    mark_ = 0;
  }
  make_member();
  apply_view();
}

void MirroredQueue::leave() {
  if (dormant_) return process_->removed();
  if (process_ != nullptr) demote();
  contents_->erase();
  member_.reset();
}

// Alone it has committed all that it had.
std::unique_ptr<QueueProcess> MirroredQueue::release() {
  if (process_ == nullptr) {
    contents_->erase();
    return nullptr;
  }
  if (!writer_.empty()) flush_batch();
  member_->turn_end(now_ms());
  begin_to_serve();
  settle();
  services_.shard.remove(address_.actor);
  released_ = true;
  return std::move(process_);
}

void MirroredQueue::removed() {
  if (process_ != nullptr) {
    // Nobody waits for a queue that is gone.
    for (const Settling& one : settling_) process_->settle(one.channel, one.up_to);
    for (const Pending& one : pending_) process_->settle(one.channel, one.up_to);
    process_->removed();
  } else {
    contents_->erase();
  }
  for (LetterPtr& letter : std::exchange(early_, {})) {
    const Address from = letter->from;
    services_.shard.post(from, address_, std::move(letter));
  }
}

void MirroredQueue::serve() {
  held_ = false;
  if (dormant_) {
    if (awaited_) renew(record_, *std::exchange(awaited_, std::nullopt));
    return;
  }
  if (process_ != nullptr) {
    process_->serve();
  } else {
    // What a former copy left on the disk is of no use for one that joins, and nothing but that
    // can be there of one that is in sync: the queue is new.
    contents_->erase();
    make_contents();
  }
  apply_view();
}

// MR4. Until then it is a slave that leads the ring: what it does may have to be cut yet.
void MirroredQueue::begin_to_serve() {
  if (serving_ || member_ == nullptr || !member_->is_master()) return;
  if (!record_->view->led() || member_->committed() < epoch_begins_) return;
  if (process_ == nullptr) promote();
  serving_ = true;
  for (LetterPtr& letter : std::exchange(early_, {})) receive_queue_letter(std::move(letter));
}

void MirroredQueue::peer_down(runtime::NodeId peer) {
  std::erase_if(early_, [peer](const LetterPtr& letter) { return letter->from.node == peer; });
  if (process_ == nullptr) return;
  process_->peer_down(peer);
  std::vector<Producer> gone;
  for (const auto& [producer, state] : producers_.all()) {
    if (producer.channel.node == peer) gone.push_back(producer);
  }
  for (const Producer& one : gone) {
    producers_.forget(one);
    if (!is_alone()) writer_.producer_gone(one);
  }
  ask_turn();
}

// --- letters ------------------------------------------------------------------------------------

void MirroredQueue::receive(LetterPtr letter) noexcept {
  if (letter->kind < runtime::kRingLetters) return receive_queue_letter(std::move(letter));
  if (member_ == nullptr || broken_ || held_) return;
  switch (letter->kind) {
    case gm::kHandOn: {
      auto& own = letter_cast<gm::HandOnLetter>(*letter);
      if (own.receiver == self_) member_->receive(own.sender, std::move(own.frame));
      break;
    }
    case gm::kReport: {
      const auto& own = letter_cast<gm::ReportLetter>(*letter);
      if (own.receiver == self_) member_->receive(own.sender, own.frame, now_ms());
      break;
    }
    case kMissing:
      if (letter_cast<Missing>(*letter).receiver == self_) {
        questions_.emplace_back(static_cast<Missing*>(letter.release()));
      }
      break;
    case kOlder:
      if (letter_cast<Older>(*letter).receiver == self_) take_older(letter_cast<Older>(*letter));
      break;
    default:
      return;
  }
  ask_turn();
}

// MR6
void MirroredQueue::receive_queue_letter(LetterPtr letter) {
  const std::uint64_t epoch = static_cast<const QueueLetter&>(*letter).epoch;
  if (epoch != 0 && epoch < record_->view->epoch) return pass_over(*letter);
  if (serving_ && (epoch == 0 || epoch == record_->view->epoch)) return handle(std::move(letter));
  early_.push_back(std::move(letter));
}

// Its sender hears of the new epoch and asks again; but one that has ended does not.
void MirroredQueue::pass_over(const runtime::Letter& letter) {
  if (letter.kind != kChannelGone) return;
  const auto& gone = static_cast<const ChannelGone&>(letter);
  if (!gone.wants_notice) return;
  auto notice = std::make_unique<ChannelForgotten>(gone.qid);
  notice->request = gone.request;
  services_.shard.post(address_, gone.notify, std::move(notice));
}

void MirroredQueue::handle(LetterPtr letter) {
  if (letter->kind == kPublish) return take_publish(std::move(letter));
  if (letter->kind == kChannelGone) {
    const Producer producer = producer_of(letter->from);
    if (producers_.find(producer) != nullptr) {
      producers_.forget(producer);
      if (!is_alone()) writer_.producer_gone(producer);
      ask_turn();
    }
  }
  process_->receive(std::move(letter));
}

// --- turns --------------------------------------------------------------------------------------

void MirroredQueue::turn_end() noexcept {
  if (member_ == nullptr || broken_ || held_) return;
  if (process_ != nullptr) {
    flush_batch();
  } else {
    go_on_joining();
  }
  note_stored();
  member_->turn_end(now_ms());
  begin_to_serve();
  if (process_ != nullptr) {
    settle();
    give_older();
  } else if (contents_ != nullptr) {
    contents_->end_turn();
  }
  look_at_timer();
}

void MirroredQueue::look_at_timer() {
  if (timer_runs_ || member_ == nullptr || record_->view->vacant()) return;
  const bool waits = !member_->is_master()
                         ? joins()
                         : record_->view->members.size() > 1 &&
                               (member_->committed() < member_->log().last().number ||
                                !settling_.empty() || !record_->view->members.back().in_sync);
  if (!waits) return;
  if (timer_ == nullptr) timer_ = services_.shard.env().timers().make([this] { tick(); });
  timer_runs_ = true;
  timer_->start(kTickMs);
}

void MirroredQueue::tick() {
  timer_runs_ = false;
  if (member_ == nullptr || broken_) return;
  member_->tick(now_ms());
  if (process_ == nullptr && joining_.asked && !joining_.fetched &&
      now_ms() >= joining_.asked_ms + kAskAgainMs) {
    joining_.asked = false;
  }
  ask_turn();
  look_at_timer();
}

// --- what the ring says -------------------------------------------------------------------------

std::optional<Address> MirroredQueue::address_of(const gm::MemberId& member) const {
  for (const QueueMember& one : record_->view->members) {
    if (one.node != member.node || one.life != member.life || one.joined != member.joined) continue;
    return Address{one.node, one.shard, address_.actor};
  }
  return std::nullopt;
}

void MirroredQueue::send(const gm::MemberId& to, gm::HandOn frame) {
  const auto address = address_of(to);
  if (!address) return;
  auto letter = std::make_unique<gm::HandOnLetter>(record_->qid.value);
  letter->sender = self_;
  letter->receiver = to;
  letter->frame = std::move(frame);
  services_.shard.post(address_, *address, std::move(letter));
}

void MirroredQueue::send(const gm::MemberId& to, const gm::Report& frame) {
  const auto address = address_of(to);
  if (!address) return;
  auto letter = std::make_unique<gm::ReportLetter>(record_->qid.value);
  letter->sender = self_;
  letter->receiver = to;
  letter->frame = frame;
  services_.shard.post(address_, *address, std::move(letter));
}

void MirroredQueue::propose(const gm::ViewChange& change) { services_.propose(*record_, change); }

void MirroredQueue::cut(gm::Number above, std::vector<gm::Entry> entries) {
  runtime::log(runtime::LogLevel::kInfo, "mirror",
               "queue '{}' in vhost '{}': {} entries above {} were never committed and are not of "
               "the new master's log: whoever made them sends them again",
               record_->name, record_->vhost, entries.size(), above);
}

void MirroredQueue::diverged(const gm::Position& at) {
  runtime::log(runtime::LogLevel::kError, "mirror",
               "queue '{}' in vhost '{}': this mirror has something else than the master at "
               "{}:{}; it joins anew",
               record_->name, record_->vhost, at.epoch, at.number);
  ask_to_join_anew();
}

}  // namespace ringtail::queue
