// Reads [{name, content}] from standard input and writes, for each file, what
// every validator says of it and what the two parsers read out of it. It runs
// in the folder the packages were installed in.
import {text} from 'node:stream/consumers';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const here = join(process.cwd(), 'package.json');
const require = createRequire(here);
const load = (path) => import(pathToFileURL(path));

const kit = require('llmstxt-kit');
const parser = require('@25xcodes/llmstxt-parser');
const check = await load(join(process.cwd(), 'node_modules/llms-txt-check/dist/index.js'));
const {default: audit} = await load(join(process.cwd(), 'node_modules/lighthouse/core/audits/agentic/llms-txt.js'));

const said = (list) => list.map((e) => e.message);

const verdicts = JSON.parse(await text(process.stdin)).map(({name, content}) => {
  const ours = kit.validateLlmsTxt(content);
  const parsed = parser.parseLLMSTxt(content);
  const judged = parser.validateLLMSTxt(parsed);
  const tree = check.parse(content);
  const google = audit.audit({LlmsTxt: {status: 200, content}});
  return {
    name,
    faults: {
      'llmstxt-kit': said(ours.errors),
      '@25xcodes/llmstxt-parser': said(judged.errors),
      'llms-txt-check': said(check.lint(tree).filter((i) => i.severity === 'error')),
      'lighthouse': google.score === 1 ? [] : (google.details?.items ?? [google]).map((i) => i.message?.formattedDefault ?? JSON.stringify(i)),
    },
    read: {
      '@25xcodes/llmstxt-parser': {title: parsed.title, sections: parsed.sections.map((s) => s.heading), links: parsed.links.map((l) => l.url)},
      'llms-txt-check': {title: tree.title, sections: tree.sections.map((s) => s.name), links: check.links(tree).map((l) => l.url)},
    },
  };
});
process.stdout.write(JSON.stringify(verdicts));
