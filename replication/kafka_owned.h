// Objects of a C library, ended by its own function when their owner goes. Any thread.
#pragma once

#include <memory>

namespace holdfast {

template <auto Destroy>
struct KafkaDestroyer {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};
template <class T, auto Destroy>
using KafkaOwned = std::unique_ptr<T, KafkaDestroyer<Destroy>>;

}  // namespace holdfast
