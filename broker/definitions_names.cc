#include "broker/definitions_names.h"

namespace ringtail::broker {

using cluster::metadata::PasswordHashing;
using cluster::metadata::PolicyTarget;

const char* name_of(PasswordHashing hashing) {
  switch (hashing) {
    case PasswordHashing::kSha256:
      break;
    case PasswordHashing::kSha512:
      return "rabbit_password_hashing_sha512";
    case PasswordHashing::kMd5:
      return "rabbit_password_hashing_md5";
  }
  return "rabbit_password_hashing_sha256";
}

const char* name_of(PolicyTarget target) {
  switch (target) {
    case PolicyTarget::kAll:
      break;
    case PolicyTarget::kQueues:
      return "queues";
    case PolicyTarget::kExchanges:
      return "exchanges";
    case PolicyTarget::kClassicQueues:
      return "classic_queues";
    case PolicyTarget::kQuorumQueues:
      return "quorum_queues";
  }
  return "all";
}

}  // namespace ringtail::broker
