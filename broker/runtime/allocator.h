// The process's memory allocator, where the program has to deal with it by name.
#pragma once

namespace ringtail::runtime {

// Whether release_free_memory() gives back what was freed a moment ago, too. Of the whole process:
// one thread alone may call it, before it asks all threads to release and after they have.
void set_release_at_once(bool at_once);
// Gives memory that this thread freed back to the kernel. Takes milliseconds after much was freed.
void release_free_memory();

}  // namespace ringtail::runtime
