#include "cluster/raft/raft_io.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::cluster::raft {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

namespace {

RaftIo& self(struct raft_io* io) { return *static_cast<RaftIo*>(io->impl); }

Status bad_snapshot(Index index) {
  return {Code::kCorrupt, "the snapshot of Raft that ends at entry " + std::to_string(index) +
                              " has a configuration that is none"};
}

}  // namespace

RaftIo::RaftIo(runtime::Env& env, RaftLogStore& store, Transport& transport, RaftIoOptions options,
               struct ::raft& raft, Owner owner)
    : env_(env),
      store_(store),
      transport_(transport),
      options_(options),
      raft_(raft),
      owner_(std::move(owner)),
      senders_(transport, options.transfer),
      gatherer_(options.transfer) {
  fill_functions();
  fill_log_functions();
  // Another one than of any former life: a receiver must not take one sending for another.
  last_session_ = env_.rng().next() >> 1;
}

// --- the functions -------------------------------------------------------------------------------

void RaftIo::fill_functions() {
  io_.version = 2;
  io_.impl = this;
  io_.init = [](struct raft_io*, raft_id, const char*) { return 0; };
  io_.close = [](struct raft_io* io, raft_io_close_cb callback) { self(io).close(callback); };
  io_.start = [](struct raft_io* io, unsigned, raft_io_tick_cb ticked, raft_io_recv_cb came) {
    self(io).tick_ = ticked;
    self(io).recv_ = came;
    return 0;
  };
  // The store does both, before libraft is started.
  io_.bootstrap = [](struct raft_io*, const raft_configuration*) { return RAFT_CANTBOOTSTRAP; };
  io_.recover = [](struct raft_io*, const raft_configuration*) { return RAFT_CANTBOOTSTRAP; };
  io_.send = [](struct raft_io* io, raft_io_send* request, const raft_message* message,
                raft_io_send_cb callback) { return self(io).send(request, *message, callback); };
  io_.time = [](struct raft_io* io) -> raft_time { return self(io).now_ms(); };
  io_.random = [](struct raft_io* io, int least, int most) {
    const auto range = static_cast<std::uint64_t>(std::max(1, most - least));
    return least + static_cast<int>(self(io).env_.rng().below(range));
  };
  io_.async_work = [](struct raft_io* io, raft_io_async_work* request,
                      raft_io_async_work_cb callback) {
    self(io).async_work(request, callback);
    return 0;
  };
}

void RaftIo::fill_log_functions() {
  io_.load = [](struct raft_io* io, raft_term* term, raft_id* vote, raft_snapshot** snapshot,
                raft_index* start, raft_entry** entries, std::size_t* count) {
    return self(io).load(term, vote, snapshot, start, entries, count);
  };
  // A failure has been told to the owner then. libraft does not hear of it: what it does with an
  // error here frees memory that it does not have (convertToCandidate); and nothing that it does
  // from here on leaves this object.
  io_.set_term = [](struct raft_io* io, raft_term term) {
    RaftIo& me = self(io);
    if (const Status kept = me.store_.set_term(term); !kept.ok()) me.fail(kept);
    return 0;
  };
  io_.set_vote = [](struct raft_io* io, raft_id id) {
    RaftIo& me = self(io);
    const Status kept = me.store_.set_vote({static_cast<std::uint32_t>(id)});
    if (!kept.ok()) me.fail(kept);
    return 0;
  };
  io_.append = [](struct raft_io* io, raft_io_append* request, const raft_entry* entries,
                  unsigned count, raft_io_append_cb callback) {
    self(io).append(request, entries, count, callback);
    return 0;
  };
  io_.truncate = [](struct raft_io* io, raft_index index) {
    self(io).truncate(index);
    return 0;
  };
  io_.snapshot_put = [](struct raft_io* io, unsigned trailing, raft_io_snapshot_put* request,
                        const raft_snapshot* snapshot, raft_io_snapshot_put_cb callback) {
    self(io).put_snapshot(trailing, request, *snapshot, callback);
    return 0;
  };
  io_.snapshot_get = [](struct raft_io* io, raft_io_snapshot_get* request,
                        raft_io_snapshot_get_cb callback) {
    return self(io).get_snapshot(request, callback);
  };
}

std::uint64_t RaftIo::now_ms() const { return env_.clock().boot_ms() + jumped_ms_; }

void RaftIo::fail(const Status& why) {
  if (failed_) return;
  failed_ = true;
  owner_.failed(why);
}

void RaftIo::end_call() {
  // In this order: a callback of a send may look at progress that a later one changes. None of them
  // sends.
  for (std::size_t i = 0; i < due_.size(); ++i) {
    due_[i].callback(due_[i].request, due_[i].status);
  }
  due_.clear();
  if (!dead()) owner_.called();
}

// --- loading -------------------------------------------------------------------------------------

void RaftIo::set_loaded(LoadedLog loaded) { loaded_ = std::move(loaded); }

namespace {

// One batch for all payloads, as libraft wants what it did not make itself.
raft_entry* batch_of(const std::vector<StoredEntry>& stored) {
  std::size_t size = 0;
  for (const StoredEntry& entry : stored) size += (entry.payload.size() + 7) / 8 * 8;
  std::uint8_t* at = make_raft_buffer(size).release();
  std::uint8_t* const batch = at;
  auto* const entries =
      reinterpret_cast<raft_entry*>(make_raft_buffer(stored.size() * sizeof(raft_entry)).release());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::string& payload = stored[i].payload;
    entries[i] = {};
    entries[i].term = stored[i].term;
    entries[i].type = static_cast<unsigned short>(stored[i].kind);
    entries[i].buf = {at, payload.size()};
    entries[i].batch = batch;
    std::memcpy(at, payload.data(), payload.size());
    at += (payload.size() + 7) / 8 * 8;
  }
  return entries;
}

raft_snapshot* snapshot_of(StoredSnapshot stored, const Configuration& configuration) {
  auto* const snapshot =
      reinterpret_cast<raft_snapshot*>(make_raft_buffer(sizeof(raft_snapshot)).release());
  snapshot->index = stored.index;
  snapshot->term = stored.term;
  snapshot->configuration_index = stored.configuration_index;
  fill_configuration(configuration, &snapshot->configuration);
  snapshot->bufs = reinterpret_cast<raft_buffer*>(make_raft_buffer(sizeof(raft_buffer)).release());
  snapshot->bufs[0] = {stored.payload.release(), stored.payload_size};
  snapshot->n_bufs = 1;
  return snapshot;
}

}  // namespace

int RaftIo::load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* start,
                 raft_entry** entries, std::size_t* count) {
  LoadedLog loaded = std::exchange(loaded_, {});
  *snapshot = nullptr;
  if (loaded.snapshot) {
    const auto configuration = decode_configuration(loaded.snapshot->configuration);
    if (!configuration.ok()) {
      fail(bad_snapshot(loaded.snapshot->index));
      return RAFT_CORRUPT;
    }
    configurations_[loaded.snapshot->configuration_index] = loaded.snapshot->configuration;
    *snapshot = snapshot_of(std::move(*loaded.snapshot), configuration.value());
  }
  *term = loaded.ballot.term;
  *vote = loaded.ballot.vote.value;
  *start = loaded.first;
  *count = loaded.entries.size();
  *entries = loaded.entries.empty() ? nullptr : batch_of(loaded.entries);
  next_index_ = loaded.first + loaded.entries.size();
  for (std::size_t i = 0; i < loaded.entries.size(); ++i) {
    if (loaded.entries[i].kind == EntryKind::kChange) {
      configurations_[loaded.first + i] = std::move(loaded.entries[i].payload);
    }
  }
  return 0;
}

// --- the log -------------------------------------------------------------------------------------

void RaftIo::append(raft_io_append* request, const raft_entry* entries, unsigned count,
                    raft_io_append_cb callback) {
  Appending appending{request, callback, answer_, 0};
  std::vector<EntryView> views;
  views.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    const raft_entry& entry = entries[i];
    views.push_back({entry.term,
                     static_cast<EntryKind>(entry.type),
                     {static_cast<const char*>(entry.buf.base), entry.buf.len}});
    if (entry.type == RAFT_CHANGE) {
      configurations_[next_index_ + i] = std::string(views.back().payload);
    }
    if (entry.type == RAFT_BARRIER && raft_.state == RAFT_LEADER) appending.barrier = entry.term;
  }
  const Index first = std::exchange(next_index_, next_index_ + count);
  appends_.push_back(appending);
  append_term_ = raft_.current_term;
  if (!failed_) store_.append(first, views, [this] { appended(); });
}

void RaftIo::appended() {
  if (dead()) return;
  const Appending appending = appends_.front();
  appends_.pop_front();
  const bool counts = appending.barrier != 0 && appending.barrier == raft_.current_term;
  if (counts) barrier_stored_ = appending.barrier;
  call([&] {
    answer_ = appending.answer;
    appending.callback(appending.request, 0);
    answer_.reset();
  });
  if (counts) release_withheld();
  release_held();
  if (tick_when_idle_ && !appends_in_flight()) tick();
}

void RaftIo::truncate(Index index) {
  if (!failed_) store_.truncate(index);
  next_index_ = index;
  configurations_.erase(configurations_.lower_bound(index), configurations_.end());
}

bool RaftIo::configuration_open() const {
  return !configurations_.empty() && configurations_.rbegin()->first > raft_.last_applied;
}

// --- snapshots -----------------------------------------------------------------------------------

void RaftIo::put_snapshot(unsigned trailing, raft_io_snapshot_put* request,
                          const raft_snapshot& snapshot, raft_io_snapshot_put_cb callback) {
  // Without trailing entries it is one of the leader's (raft_log_store.h wants at least one).
  putting_ = Putting{request, callback, trailing == 0, answer_, snapshot.bufs};
  if (failed_) return;
  SnapshotSource source;
  source.header.index = snapshot.index;
  source.header.term = snapshot.term;
  source.header.configuration_index = snapshot.configuration_index;
  source.configuration = encode_configuration(configuration_of(snapshot.configuration));
  for (unsigned i = 0; i < snapshot.n_bufs; ++i) {
    const auto* const bytes = static_cast<const char*>(snapshot.bufs[i].base);
    if (snapshot.bufs[i].len > 0) source.payload.emplace_back(bytes, snapshot.bufs[i].len);
    source.header.payload_size += snapshot.bufs[i].len;
  }
  if (putting_->install) {
    next_index_ = snapshot.index + 1;
    configurations_.clear();
  }
  // All before the one that is in force at its end is covered.
  configurations_.erase(configurations_.begin(),
                        configurations_.lower_bound(snapshot.configuration_index));
  configurations_[snapshot.configuration_index] = source.configuration;
  store_.put_snapshot(std::move(source), putting_->install,
                      [this](const Status& status) { snapshot_put(status); });
}

void RaftIo::snapshot_put(const Status& status) {
  if (dead()) return;
  if (!status.ok()) {
    // libraft has forgotten its log for a snapshot to be installed: there is no way back.
    if (putting_->install) return fail(status);
    log(LogLevel::kError, "raft", "no new snapshot, the log grows on: {}", status.text());
  }
  const Putting putting = *putting_;
  call([&] {
    answer_ = putting.answer;
    // libraft forgets its own mark of the snapshot in it.
    putting_.reset();
    putting.callback(putting.request, status.ok() ? 0 : RAFT_IOERR);
    answer_.reset();
    // Fault 6: 0.15 leaves the index of a change that the snapshot has covered, and allows no
    // other.
    if (putting.install && raft_.configuration_uncommitted_index <= raft_.last_applied) {
      raft_.configuration_uncommitted_index = 0;
    }
  });
  release_held();
}

int RaftIo::get_snapshot(raft_io_snapshot_get* request, raft_io_snapshot_get_cb callback) {
  if (dead() || getting_ != nullptr) return RAFT_BUSY;  // libraft asks again
  if (store_.snapshot_index() == 0) return RAFT_NOTFOUND;
  getting_ = request;
  get_callback_ = callback;
  store_.get_snapshot(
      [this](runtime::Result<StoredSnapshot> snapshot) { snapshot_got(std::move(snapshot)); });
  return 0;
}

void RaftIo::snapshot_got(runtime::Result<StoredSnapshot> snapshot) {
  if (dead()) return;
  Status status = snapshot.status();
  Configuration configuration;
  if (status.ok()) {
    auto decoded = decode_configuration(snapshot.value().configuration);
    if (decoded.ok()) {
      configuration = std::move(decoded).value();
    } else {
      status = bad_snapshot(snapshot.value().index);
    }
  }
  if (!status.ok()) return fail(status);
  raft_io_snapshot_get* const request = std::exchange(getting_, nullptr);
  call([&] { get_callback_(request, snapshot_of(std::move(snapshot).value(), configuration), 0); });
}

void RaftIo::async_work(raft_io_async_work* request, raft_io_async_work_cb callback) {
  working_ = request;
  work_callback_ = callback;
  owner_.make_snapshot([this] { async_worked(0); });
}

void RaftIo::async_worked(int status) {
  if (working_ == nullptr || (dead() && status == 0)) return;
  raft_io_async_work* const request = std::exchange(working_, nullptr);
  call([&] {
    const int worked = status == 0 ? request->work(request) : status;
    work_callback_(request, worked);
  });
  release_held();
}

// --- the end -------------------------------------------------------------------------------------

void RaftIo::close(raft_io_close_cb callback) {
  close_callback_ = callback;
  for (raft_io_send* const request : senders_.stop_all()) finish_send(request, RAFT_CANCELED);
  held_.clear();
  withheld_.clear();
  if (abandoned_) return finish_close();
  store_.close([this] { finish_close(); });
}

// libraft is in its last state, in which its callbacks free and do nothing more. Those of appends
// get no error: for one it cuts its log, and for the next behind it cuts what is no longer there.
void RaftIo::finish_close() {
  ++depth_;
  while (!appends_.empty()) {
    const Appending appending = appends_.front();
    appends_.pop_front();
    appending.callback(appending.request, 0);
  }
  if (putting_) {
    const Putting putting = *std::exchange(putting_, std::nullopt);
    putting.callback(putting.request, RAFT_CANCELED);
    if (putting.install) raft_free(putting.pieces);  // libraft 0.15 forgets it
  }
  if (getting_ != nullptr) {
    get_callback_(std::exchange(getting_, nullptr), nullptr, RAFT_CANCELED);
  }
  async_worked(RAFT_CANCELED);
  --depth_;
  end_call();
  closed_ = true;
  const raft_io_close_cb callback = std::exchange(close_callback_, nullptr);
  callback(&io_);
}

}  // namespace ringtail::cluster::raft
