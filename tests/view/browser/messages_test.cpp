// SPDX-License-Identifier: Apache-2.0
// The parser of live messages, by itself.
#include <gtest/gtest.h>

#include <string>

#include "view/browser/browser.hpp"
#include "view/browser/viewed_pipeline.hpp"

namespace vcap::test {
namespace {

/// Runs a script in which `parse(pieces)` gives the messages of a list of Uint8Arrays, and
/// `bytes(text)` those of a text.
nlohmann::json run_with_parser(const std::string& script) {
  const ViewedPipeline viewed;
  const Browser browser;
  browser.open(viewed.url());
  return browser.run(
      "return import('/messages.js').then(({MessageParser}) => {"
      "const parse = (pieces) => { const parser = new MessageParser();"
      "  return pieces.flatMap((piece) => parser.push(piece))"
      "    .map(({head, body}) => [head.type, [...body].join()]); };"
      "const bytes = (text) => new TextEncoder().encode(text);" +
      script + "})");
}

TEST(LiveMessages, AreTheSameHoweverTheyAreCut) {
  const nlohmann::json result = run_with_parser(R"js(
    let seed = 7;
    const chance = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };
    for (let round = 0; round < 300; ++round) {
      const wanted = [];
      const all = [];
      for (let i = 0; i < 8; ++i) {
        const body = Uint8Array.from({length: chance(40)}, () => chance(256));
        all.push(...bytes(JSON.stringify({type: 'a\u00e9' + i, bytes: body.length}) + '\n'), ...body);
        wanted.push(['a\u00e9' + i, [...body].join()]);
      }
      const pieces = [];
      for (let at = 0; at < all.length;) {
        const size = chance(round % 2 === 0 ? 3 : 90);
        pieces.push(Uint8Array.from(all.slice(at, at + size)));
        at += size;
      }
      const got = JSON.stringify(parse(pieces));
      if (got !== JSON.stringify(wanted)) return `round ${round}: ${got}`;
    }
    return 'all the same';)js");
  EXPECT_EQ(result, "all the same");
}

TEST(LiveMessages, ThatAreNoneAreRefused) {
  const nlohmann::json result = run_with_parser(R"js(
    const outcome = (text) => { try { return parse([bytes(text)]).length; } catch { return 'refused'; } };
    return ['{"type":"a","bytes":0}\n', '{"type":"a","bytes":2}\nx', 'no json\n', '{"type":"a"}\n', 'null\n',
      '{"bytes":-1}\n', '{"bytes":1.5}\n', '{"bytes":"1"}\n', '{"bytes":1e12}\n', 'x'.repeat(70000)].map(outcome);)js");
  EXPECT_EQ(result, nlohmann::json::parse(R"([1, 0, "refused", "refused", "refused", "refused",
                                              "refused", "refused", "refused", "refused"])"));
}

}  // namespace
}  // namespace vcap::test
