// doctest for the tests of code that has its own CHECK: in what follows this include, CHECK is doctest's. Include it
// after every header of the project, so that inline code there keeps its own; the layers test sees to that.
#pragma once

#include "protocol/check.h"

#undef CHECK
#include <doctest/doctest.h>
