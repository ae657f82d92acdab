// The process's memory allocator, where the program has to deal with it by name.
#pragma once

namespace ringtail::runtime {

// Gives memory that this thread freed back to the kernel. Takes milliseconds after much was freed.
void release_free_memory();

}  // namespace ringtail::runtime
