#include "broker/definitions_names.h"

namespace ringtail::broker {

using cluster::metadata::PasswordHashing;

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

}  // namespace ringtail::broker
