//! Whether the documents speak of what is there.

use std::{collections::BTreeSet, fs};

use super::{Source, files, read, report, root};

/// Each table of routes, the document that describes it, and the routes that come with shared or foreign code.
///
/// A table that ends in `/` is a folder of handlers.
const ROUTES: [(&str, &str, &[&str]); 2] = [
    (
        "knowhub-server/src/http/",
        "docs/knowhub-api.md",
        &["GET /healthz", "GET /readyz", "GET /api/openapi.json", "GET /docs"],
    ),
    ("im-server/src/http.rs", "docs/im-protocol.md", &["GET /healthz", "GET /readyz"]),
];

/// Returns what stands between backticks in the text of a document, code blocks left out.
fn code_spans(source: &Source) -> impl Iterator<Item = (String, &str)> {
    let mut in_block = false;
    source.lines().flat_map(move |(place, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        let line = if in_block || is_fence { "" } else { line };
        line.split('`').skip(1).step_by(2).map(move |span| (place.clone(), span))
    })
}

fn documents() -> Vec<Source> {
    files(".md")
}

#[test]
fn references_to_code_resolve() {
    let mut findings = Vec::new();
    for document in &documents() {
        for (place, span) in code_spans(document) {
            let Some((path, symbol)) = span.split_once(".rs:") else { continue };
            let path = format!("{path}.rs");
            let is_symbol = |c: char| c.is_alphanumeric() || c == '_';
            let found = fs::read_to_string(root().join(&path)).is_ok_and(|text| {
                symbol
                    .split("::")
                    .all(|part| text.split(|c| !is_symbol(c)).any(|word| word == part))
            });
            if !found {
                findings.push(format!("{place}: {span}"));
            }
        }
    }
    report("every `path/file.rs:symbol` in the documents exists", &findings);
}

#[test]
fn links_between_documents_resolve() {
    let mut findings = Vec::new();
    for document in &documents() {
        let folder = root().join(&document.path).parent().unwrap().to_owned();
        for (place, line) in document.lines() {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap();
                if link.contains("://") {
                    continue;
                }
                let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
                let file = if target.is_empty() {
                    root().join(&document.path)
                } else {
                    folder.join(target)
                };
                let leads_there = anchor.is_empty()
                    || fs::read_to_string(&file).is_ok_and(|text| has_heading(&text, anchor));
                if !file.exists() || !leads_there {
                    findings.push(format!("{place}: {link}"));
                }
            }
        }
    }
    report("every link between documents leads somewhere", &findings);
}

/// Tells whether a document has a heading that an anchor names, as its readers make anchors of headings.
fn has_heading(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| line.trim_start_matches('#').trim().to_lowercase()).any(|heading| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).eq(anchor.chars())
    })
}

/// Returns `METHOD /path` for each route of a table.
fn routes(table: &str) -> BTreeSet<String> {
    if !table.ends_with('/') {
        return listed_routes(&read(table));
    }
    files(".rs")
        .iter()
        .filter(|source| source.path.starts_with(table))
        .flat_map(|source| described_routes(source).into_iter().chain(listed_routes(source)))
        .collect()
}

/// Returns the routes that handlers describe for OpenAPI: `#[utoipa::path(get, path = "…")]`.
fn described_routes(source: &Source) -> BTreeSet<String> {
    let attributes = source.text.split("#[utoipa::path(").skip(1);
    attributes
        .map(|attribute| {
            let method = attribute.trim_start().split([',', '(']).next().unwrap();
            let path = attribute.split("path = \"").nth(1).unwrap().split('"').next().unwrap();
            // A parameter that spans slashes has no mark of its own outside of the router.
            format!("{} {}", method.to_uppercase(), path.replace("{*", "{"))
        })
        .collect()
}

/// Returns the routes of a table of axum routes: `.route("…", get(…))`.
fn listed_routes(source: &Source) -> BTreeSet<String> {
    let mut routes = BTreeSet::new();
    let outside_tests = source.text.split("#[cfg(test)]").next().unwrap();
    for call in outside_tests.split(".route(").skip(1) {
        let path = call.split('"').nth(1).unwrap();
        let handlers = call.split('"').nth(2).unwrap().split(".route(").next().unwrap();
        for (call, method) in [
            ("any", "GET"),
            ("get", "GET"),
            ("post", "POST"),
            ("put", "PUT"),
            ("patch", "PATCH"),
            ("delete", "DELETE"),
        ] {
            let is_method =
                |before: Option<char>| before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
            let needle = format!("{call}(");
            let mut places = handlers.match_indices(&needle);
            if places.any(|(at, _)| is_method(handlers[..at].chars().next_back())) {
                routes.insert(format!("{method} {path}"));
            }
        }
    }
    routes
}

#[test]
fn routes_and_documents_agree() {
    let mut findings = Vec::new();
    for (table, document, shared) in ROUTES {
        let mut built = routes(table);
        assert!(!built.is_empty(), "no route was found in {table}");
        built.extend(shared.iter().map(|&route| route.to_owned()));
        let document = read(document);
        let documented: BTreeSet<_> = code_spans(&document)
            .map(|(_, span)| span.split('?').next().unwrap().to_owned())
            .filter(|span| {
                let method = span.split_once(" /").map_or("", |(method, _)| method);
                ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method)
            })
            .collect();
        let missing = built.difference(&documented);
        findings.extend(missing.map(|route| format!("{route} is not in {}", document.path)));
        let stale = documented.difference(&built);
        findings.extend(stale.map(|route| format!("{route} is in {} only", document.path)));
    }
    report("routes and their documents agree", &findings);
}

#[test]
fn every_setting_is_documented() {
    let readmes = [read("README.md"), read("README.zh-CN.md")];
    let mut findings = Vec::new();
    for source in files(".rs").iter().filter(|source| !source.path.contains("/tests/")) {
        let named = ["env = \"", "env::var(\""].map(|before| source.text.split(before).skip(1));
        for name in named.into_iter().flatten().filter_map(|rest| rest.split('"').next()) {
            for readme in &readmes {
                if !readme.text.contains(&format!("`{name}`")) {
                    findings.push(format!("{name} ({}) is not in {}", source.path, readme.path));
                }
            }
        }
    }
    report("every setting stands in both READMEs", &findings);
}

#[test]
fn twins_say_the_same() {
    for (english, chinese) in
        [("README.md", "README.zh-CN.md"), ("skill/knowhub.md", "skill/knowhub.zh-CN.md")]
    {
        assert_eq!(shape(&read(english)), shape(&read(chinese)), "{english} and {chinese}");
    }
}

/// Returns what a document and its twin have in common: headings, lists, tables, commands, and fields of bodies.
fn shape(document: &Source) -> Vec<String> {
    let mut in_block = false;
    let mut shape = Vec::new();
    for line in document.text.lines() {
        let is_fence = line.starts_with("```");
        in_block ^= is_fence;
        let field = line.trim_start().strip_prefix('"').and_then(|rest| rest.split_once("\":"));
        let heading = line.chars().take_while(|c| *c == '#').count();
        shape.extend(match (in_block, field) {
            _ if is_fence => Some(line.to_owned()),
            (true, _) if line.starts_with("$ ") => Some(line.to_owned()),
            (true, Some((field, _))) => Some(field.to_owned()),
            (true, None) => None,
            (false, _) if line.starts_with('|') => Some(row(line)),
            (false, _) if line.starts_with("- ") => Some("-".to_owned()),
            (false, _) => (heading > 0).then(|| "#".repeat(heading)),
        });
    }
    shape
}

/// Returns how many cells a row of a table has, and the code in them.
fn row(line: &str) -> String {
    let mut code: Vec<_> = line.split('`').skip(1).step_by(2).collect();
    code.sort_unstable();
    format!("{} {}", line.matches('|').count(), code.join(" "))
}
