#include "server/step.h"

#include "protocol/check.h"
#include "server/step_context.h"

namespace holdfast {
namespace {

using StepFunction = void (*)(StepContext&);

constexpr StepFunction kSteps[] = {
#define HOLDFAST_STEP(id, ...) &step_##id,
#define HOLDFAST_SESSION(id, ...) nullptr,
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION
};

}  // namespace

StepResult step(Inventory& inventory, const CommandEntry& command, Words words, const Now& now, ReplyWriter& reply,
                bool wait_is_over) {
  CHECK(command.home == CommandHome::step);
  StepContext context{inventory, words, now, reply, wait_is_over, {}};
  kSteps[static_cast<std::size_t>(command.id)](context);
  return context.result;
}

}  // namespace holdfast
