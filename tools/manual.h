// The manual's reference pages, made from the tables that the programs themselves are made from, so that neither can
// say something else than the other. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// A page, as the file tools/manual/<name> holds it.
struct ManualPage {
  std::string name;
  std::string text;
};

/// All pages: Markdown to read in a repository, and man pages (roff) to install.
std::vector<ManualPage> manual_pages();

}  // namespace holdfast
