// Boost.JSON without its shared library, compiled here once for all folders.
#include <boost/json/src.hpp>
