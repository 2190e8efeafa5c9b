#include "tls/footprint.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <link.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rlock::tls {
namespace {

bool is_openssl(const dl_phdr_info& library) {
  return std::strstr(library.dlpi_name, "/libcrypto.so") != nullptr ||
         std::strstr(library.dlpi_name, "/libssl.so") != nullptr;
}

// Returns whether the loader has changed the code, so that the memory differs from the file.
bool has_changed_code(const dl_phdr_info& library) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library.dlpi_phdr[i];
    if (part.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + part.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

int give_back_code(dl_phdr_info* library, std::size_t /*size*/, void* /*data*/) {
  if (!is_openssl(*library) || has_changed_code(*library)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = (library->dlpi_addr + part.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = library->dlpi_addr + part.p_vaddr + part.p_memsz;
    ::madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void give_back_memory(SSL* ssl) noexcept {
  if (X509_STORE* nobody = X509_STORE_new(); nobody != nullptr) {
    SSL_CTX_set_cert_store(SSL_get_SSL_CTX(ssl), nobody);  // frees the one before
    ::malloc_trim(0);
  }
  ::dl_iterate_phdr(give_back_code, nullptr);
}

}  // namespace rlock::tls
