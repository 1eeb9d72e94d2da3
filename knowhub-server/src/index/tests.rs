//! The index alone: memory and disk agree, and a changed row is found in its new state only.

use std::{sync::Arc, time::Duration};

use super::{Doc, Grams, Hit, Index, Match, Query, Recent, Update};
use crate::{
    store::Identity,
    text::{Folded, tokens},
};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

struct Fixture {
    _folder: tempfile::TempDir,
    index: Index,
}

fn fixture() -> Fixture {
    fixture_with(Grams::Substrings)
}

fn fixture_with(grams: Grams) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = Identity { id: "store".into(), last_seq: 0 };
    let recent = Arc::new(Recent::new(grams));
    let index = Index::open(&folder.path().join("index"), recent, &store).unwrap();
    index.recent().keep();
    assert!(index.caught_up());
    Fixture { _folder: folder, index }
}

fn doc(row: i64, seq: i64, text: &str, labels: &[&str]) -> Doc {
    let labels = labels.iter().map(ToString::to_string).collect();
    Doc { row, seq, group: None, texts: vec![text.to_owned()], labels }
}

fn puts(docs: &[Doc]) -> Vec<Update> {
    docs.iter().cloned().map(Update::Put).collect()
}

fn query(q: &str, matching: Match) -> Query {
    Query {
        tokens: tokens(q),
        faint: Vec::new(),
        matching,
        labels: Vec::new(),
        without: Vec::new(),
    }
}

fn search(index: &Index, query: &Query) -> Vec<Hit> {
    index.view(&query.tokens).unwrap().search(query, 10).unwrap()
}

fn count(index: &Index, query: &Query) -> u64 {
    index.view(&query.tokens).unwrap().count(query).unwrap()
}

async fn commit(index: &Index, docs: &[Doc]) {
    let mark = docs.iter().map(|doc| doc.seq).max().unwrap();
    index.add(puts(docs)).await.unwrap();
    index.commit(mark).await.unwrap();
}

#[tokio::test]
async fn an_unknown_word_is_looked_up_under_the_nearest_spelling() {
    let Fixture { index, _folder } = fixture();
    let docs = [
        doc(1, 1, "gandhi", &[]),
        doc(2, 2, "percentage", &[]),
        doc(3, 3, "parentage of percents", &[]),
    ];
    commit(&index, &docs).await;
    for (query, expected) in [
        ("ghandi", &["gandhi"][..]),
        ("percentagee", &["percentag"]),
        ("Percentages", &[]),
        ("gundy", &[]),
        ("xandhi", &[]),
        ("gand", &[]),
        ("甘地甘地甘", &[]),
        ("gandhí1", &[]),
    ] {
        let asked = tokens(query);
        let mut view = index.view(&asked).unwrap();
        let spellings = view.spellings_of_unknown(&asked).unwrap();
        assert_eq!(spellings, expected, "{query}");
        for word in &spellings {
            assert!(view.frequencies().rows_with(word) > 0, "{word}");
        }
    }
}

#[tokio::test]
async fn a_row_has_the_same_score_in_memory_and_on_disk() {
    let Fixture { index, _folder } = fixture();
    let docs = [
        doc(1, 1, "extract tables from PDF tables", &["kind:a"]),
        doc(2, 2, "提取表格", &["kind:b"]),
        doc(3, 3, "清理C盘空间，提取日志里的错误信息并且发送邮件", &["kind:a"]),
    ];
    let queries = [
        query("tables 提取", Match::AnyToken),
        query("盘", Match::AnyToken),
        query("提取表", Match::AllWords(Folded::words("取"))),
        Query {
            labels: vec![vec!["kind:a".into(), "kind:c".into()]],
            ..query("pdf", Match::Labels)
        },
        Query { without: vec!["kind:a".into()], ..query("提取", Match::AnyToken) },
        query("zzz", Match::AnyToken),
        query("", Match::AnyToken),
    ];
    index.recent().remember(puts(&docs));
    let mut in_memory = Vec::new();
    for query in &queries {
        in_memory.push(search(&index, query));
    }
    assert_eq!(in_memory.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 2, 2, 1, 0, 0]);

    commit(&index, &docs[..2]).await;
    for (query, expected) in queries.iter().zip(&in_memory) {
        check_close(&search(&index, query), expected);
    }
    commit(&index, &docs[2..]).await;
    for (query, expected) in queries.iter().zip(&in_memory) {
        check_close(&search(&index, query), expected);
    }
}

#[tokio::test]
async fn a_single_character_is_found_in_memory_as_on_disk() {
    let texts = ["\u{f90a}", "か\u{3099}", "ｶﾞ", "金が", "１ 金"];
    for grams in [Grams::Characters, Grams::Substrings] {
        let Fixture { index, _folder } = fixture_with(grams);
        let docs: Vec<_> = (1..).zip(texts).map(|(row, text)| doc(row, row, text, &[])).collect();
        let found = |index: &Index| {
            ["金", "が", "ガ", "か"].map(|q| {
                let hits = search(index, &query(q, Match::AnyToken));
                hits.iter().map(|hit| hit.row).collect::<Vec<_>>()
            })
        };
        index.recent().remember(puts(&docs));
        let in_memory = found(&index);
        commit(&index, &docs).await;
        assert_eq!(in_memory, found(&index), "{grams:?}");
        assert!(in_memory[0].contains(&5), "{in_memory:?}");
    }
}

#[tokio::test]
async fn among_equals_the_newest_is_found_on_disk_too() {
    let Fixture { index, _folder } = fixture();
    let equal = |row, seq| doc(row, seq, "stable 提取", &["kind:a"]);
    for first in [1, 21, 41] {
        let docs: Vec<_> = (first..first + 20).map(|row| equal(row, row)).collect();
        commit(&index, &docs).await;
    }
    commit(&index, &[equal(3, 61)]).await;
    let label = vec!["kind:a".to_owned()];
    for query in [
        query("stable", Match::AnyToken),
        query("提取 stable", Match::AllTokens),
        query("tabl", Match::AllWords(Folded::words("tabl"))),
        Query { labels: vec![label], ..query("", Match::Labels) },
    ] {
        let rows: Vec<i64> = search(&index, &query).iter().map(|hit| hit.row).collect();
        assert_eq!(rows, [3, 60, 59, 58, 57, 56, 55, 54, 53, 52], "{query:?}");
    }

    commit(&index, &[doc(4, 62, "提取 提取 提取", &[]), doc(99, 63, "stable", &[])]).await;
    let hits = search(&index, &query("提取", Match::AnyToken));
    assert_eq!(hits[..3].iter().map(|hit| hit.row).collect::<Vec<_>>(), [4, 3, 60]);
}

#[tokio::test]
async fn tokens_that_stand_nowhere_push_out_none_that_do() {
    let Fixture { index, _folder } = fixture();
    let unknown: Vec<String> = (0..200).map(|number| format!("unknown{number}")).collect();
    let long = format!("{} stable", unknown.join(" "));
    let docs = [doc(1, 1, "a stable thing", &["kind:a"])];
    let any = query(&long, Match::AnyToken);
    let labelled = Query { labels: vec![vec!["kind:a".into()]], ..query(&long, Match::Labels) };
    let substring = query(&long, Match::AllWords(Folded::words("able")));
    let all = query(&long, Match::AllTokens);
    let check = |index: &Index, place: &str| {
        for query in [&any, &labelled, &substring] {
            let hits = search(index, query);
            assert!(
                hits.len() == 1 && hits[0].score > 0.0,
                "{:?} {place}: {hits:?}",
                query.matching
            );
        }
        assert_eq!(search(index, &all), [], "{place}");
    };
    index.recent().remember(puts(&docs));
    check(&index, "in memory");
    commit(&index, &docs).await;
    check(&index, "on disk");
}

#[track_caller]
fn check_close(found: &[Hit], expected: &[Hit]) {
    let rows = |hits: &[Hit]| hits.iter().map(|hit| (hit.row, hit.seq)).collect::<Vec<_>>();
    assert_eq!(rows(found), rows(expected));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.score - expected.score).abs() < 1e-4, "{found:?} was {expected:?}");
    }
}

#[tokio::test]
async fn a_changed_row_is_found_once_in_its_new_state() {
    let Fixture { index, _folder } = fixture();
    commit(&index, &[doc(1, 1, "旧的内容", &[]), doc(2, 2, "别的", &[])]).await;
    commit(&index, &[doc(1, 3, "新的内容", &[])]).await;
    let hits = search(&index, &query("内容", Match::AnyToken));
    assert_eq!(hits.iter().map(|hit| (hit.row, hit.seq)).collect::<Vec<_>>(), [(1, 3)]);
    assert!(search(&index, &query("旧", Match::AnyToken)).is_empty());
}

#[tokio::test]
async fn a_row_that_changes_before_the_first_commit_stands_there_once() {
    let Fixture { index, _folder } = fixture();
    index.add(puts(&[doc(1, 1, "草莓", &[]), doc(2, 2, "草莓", &[])])).await.unwrap();
    index.add(puts(&[doc(1, 3, "樱桃", &[])])).await.unwrap();
    index.add(vec![Update::Drop { row: 2, seq: 4 }]).await.unwrap();
    index.commit(4).await.unwrap();
    let count = |q: &str| count(&index, &query(q, Match::AllTokens));
    assert_eq!((count("草莓"), count("樱桃")), (0, 1));
}

#[tokio::test]
async fn the_newest_state_counts_wherever_the_older_ones_are() {
    let Fixture { index, _folder } = fixture();
    let found = |q: &str| {
        let hits = search(&index, &query(q, Match::AnyToken));
        assert_eq!(count(&index, &query(q, Match::AllTokens)), hits.len() as u64);
        hits.iter().map(|hit| (hit.row, hit.seq)).collect::<Vec<_>>()
    };
    let put = |row, seq, text| Update::Put(doc(row, seq, text, &[]));

    // All in memory.
    index.recent().remember(vec![put(1, 1, "草莓"), put(2, 2, "草莓"), put(1, 3, "樱桃")]);
    assert_eq!(found("草莓"), [(2, 2)]);
    assert_eq!(found("樱桃"), [(1, 3)]);

    // Older states on disk, newer ones in memory.
    commit(&index, &[doc(2, 2, "草莓", &[]), doc(1, 3, "樱桃", &[])]).await;
    index.recent().remember(vec![put(1, 4, "草莓"), Update::Drop { row: 2, seq: 5 }]);
    assert_eq!(found("草莓"), [(1, 4)]);
    assert_eq!(found("樱桃"), []);

    // All on disk.
    index.add(vec![put(1, 4, "草莓"), Update::Drop { row: 2, seq: 5 }]).await.unwrap();
    index.commit(5).await.unwrap();
    assert_eq!(index.mark(), 5);
    assert_eq!(found("草莓"), [(1, 4)]);
    assert_eq!(found("樱桃"), []);
}

#[tokio::test]
async fn a_count_is_of_what_a_search_finds() {
    let Fixture { index, _folder } = fixture();
    let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
    let long = query(&words.join(" "), Match::AllTokens);
    // The first rows have all the rare words, of which there are enough to search by; the second lacks the common ones.
    let texts = [&words[..], &words[50..], &words[..50], &words[..50]].map(|words| words.join(" "));
    let docs: Vec<_> = (1..).zip(&texts).map(|(row, text)| doc(row, row, text, &[])).collect();
    index.recent().remember(puts(&docs));
    let found = |index: &Index| search(index, &long).len() as u64;
    assert_eq!((count(&index, &long), found(&index)), (2, 2), "in memory");
    commit(&index, &docs).await;
    assert_eq!((count(&index, &long), found(&index)), (2, 2), "on disk");
}

#[tokio::test]
async fn no_more_rows_match_than_the_tokens_tell() {
    let Fixture { index, _folder } = fixture();
    let docs: Vec<_> =
        (1..=6).map(|row| doc(row, row, ["pdf", "table pdf"][row as usize % 2], &[])).collect();
    commit(&index, &docs[..3]).await;
    index.recent().remember(puts(&docs[3..]));
    for matching in
        [Match::AnyToken, Match::AllTokens, Match::AllWords(Folded::words("tab")), Match::Labels]
    {
        for (text, labels) in
            [("pdf table", false), ("table", false), ("none pdf", true), ("none", false)]
        {
            let mut query = query(text, matching.clone());
            query.labels.extend(labels.then(|| vec!["kind:none".to_owned()]));
            let view = index.view(&query.tokens).unwrap();
            let matches = view.count(&query).unwrap();
            assert!(matches <= view.count_at_most(&query), "{matches} for {query:?}");
        }
    }
}

#[tokio::test]
async fn groups_have_the_best_hits_each() {
    let Fixture { index, _folder } = fixture();
    let of_group = |row, text, group| Doc { group: Some(group), ..doc(row, row, text, &[]) };
    let (a, b, c, elsewhere) = (7, 0, u64::MAX, 8);
    let docs = [
        of_group(1, "pdf pdf", a),
        of_group(2, "pdf and other things", a),
        of_group(3, "pdf", b),
        of_group(4, "pdf", c),
        doc(5, 5, "pdf", &[]),
        of_group(6, "pdf and still other things", a),
    ];
    let found = || {
        let query = query("pdf", Match::AnyToken);
        let hits = index
            .view(&query.tokens)
            .unwrap()
            .search_groups(&query, &[b, a, elsewhere], 2)
            .unwrap();
        hits.iter()
            .map(|hits| hits.iter().map(|hit| hit.row).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let expected = [vec![3], vec![1, 2], vec![]];
    index.recent().remember(puts(&docs));
    assert_eq!(found(), expected);
    commit(&index, &docs[..3]).await;
    assert_eq!(found(), expected);
    commit(&index, &docs[3..]).await;
    assert_eq!(found(), expected);
}

#[tokio::test]
async fn at_rest_few_segments_are_left() {
    let Fixture { index, _folder } = fixture();
    for row in 1..=3 {
        commit(&index, &[doc(row, row, "提取", &[])]).await;
    }
    let segments = || index.shared.committed().searcher.segment_readers().len();
    assert_eq!(segments(), 3);
    let merged = async {
        while segments() > 1 {
            index.settle().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, merged).await.unwrap();
    assert_eq!(segments(), 1);
    assert_eq!(search(&index, &query("提取", Match::AnyToken)).len(), 3);
    assert_eq!(index.mark(), 3);
}

#[tokio::test]
async fn what_was_undone_is_not_there_twice() {
    let Fixture { index, _folder } = fixture();
    let docs = [doc(1, 1, "提取", &[])];
    index.add(puts(&docs)).await.unwrap();
    index.undo().await.unwrap();
    commit(&index, &docs).await;
    assert_eq!(search(&index, &query("提取", Match::AnyToken)).len(), 1);
    assert_eq!(index.mark(), 1);
}
