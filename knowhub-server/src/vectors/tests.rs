//! The index against a plain model of it, alone and beside others, and at every size.

mod concurrency;
mod damage;
mod graph;
mod model;

use half::f16;
use tempfile::TempDir;

use super::{Error, Space, VectorIndex, Vectored};
use crate::store::Identity;

/// A number generator for vectors; the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self, dimension: usize) -> Vec<f32> {
        let number = |random: &mut Self| (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0;
        let vector: Vec<f32> = (0..dimension).map(|_| number(self)).collect();
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        vector.iter().map(|number| number / length).collect()
    }
}

struct Fixture {
    folder: TempDir,
    space: Space,
    store: Identity,
}

impl Fixture {
    fn new(dimension: usize) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            space: Space { name: "model".into(), dimension },
            store: Identity { id: "store".into(), last_seq: 100 },
        }
    }

    fn open(&self) -> VectorIndex {
        VectorIndex::open(self.folder.path(), &self.space, &self.store).unwrap()
    }
}

fn vectored(row: i64, labels: &[&str], vector: &[f32]) -> Vectored {
    Vectored {
        row,
        labels: labels.iter().map(ToString::to_string).collect(),
        vector: vector.iter().map(|number| f16::from_f32(*number)).collect(),
    }
}

fn found(index: &VectorIndex, query: &[f32], filters: &[Vec<String>], limit: usize) -> Vec<i64> {
    index.search(query, filters, limit).unwrap().into_iter().map(|near| near.row).collect()
}

#[test]
fn an_empty_index_has_no_answers() {
    let index = Fixture::new(2).open();
    assert_eq!((index.len(), index.mark()), (0, 0));
    assert_eq!(found(&index, &[1.0, 0.0], &[], 10), [0_i64; 0]);
    assert_eq!(index.cosines(&[1.0, 0.0], &[1]).unwrap(), [None]);
    assert_eq!(index.background(&[1.0, 0.0]).unwrap(), None);
    index.put(Vec::new()).unwrap();
    index.hide(1);
    index.relabel(1, &["type:a".into()]);
    assert_eq!(index.len(), 0);
}

#[test]
fn a_row_is_found_in_its_last_state_and_no_longer_when_it_is_hidden() {
    let index = Fixture::new(2).open();
    index.put(vec![vectored(1, &["type:a"], &[1.0, 0.0])]).unwrap();
    index
        .put(vec![
            vectored(1, &["type:a"], &[1.0, 0.0]),
            vectored(2, &[], &[0.0, 1.0]),
            vectored(1, &["type:b"], &[0.0, 1.0]),
        ])
        .unwrap();
    let near = index.search(&[0.0, 1.0], &[], 10).unwrap();
    assert_eq!(
        near.iter().map(|near| (near.row, near.cosine)).collect::<Vec<_>>(),
        [(2, 1.0), (1, 1.0)]
    );
    assert_eq!(found(&index, &[0.0, 1.0], &[vec!["type:a".into()]], 10), [0_i64; 0]);
    assert_eq!(found(&index, &[0.0, 1.0], &[vec!["type:b".into()]], 10), [1]);

    index.hide(1);
    index.relabel(1, &["type:c".into()]);
    assert_eq!((index.len(), found(&index, &[0.0, 1.0], &[], 10)), (1, vec![2]));
    assert_eq!(index.cosines(&[0.0, 1.0], &[1, 2, 3, -1]).unwrap(), [None, Some(1.0), None, None]);

    index.put(vec![vectored(1, &["type:c"], &[1.0, 0.0])]).unwrap();
    assert_eq!(index.cosines(&[1.0, 0.0], &[1]).unwrap(), [Some(1.0)]);
    assert_eq!(found(&index, &[1.0, 0.0], &[vec!["type:b".into()]], 10), [0_i64; 0]);
}

#[test]
fn limits_may_be_anything() {
    let index = Fixture::new(2).open();
    index.put((1..=3).map(|row| vectored(row, &[], &[1.0, 0.0])).collect()).unwrap();
    for (limit, rows) in [
        (0, vec![]),
        (1, vec![3]),
        (3, vec![3, 2, 1]),
        (4, vec![3, 2, 1]),
        (usize::MAX, vec![3, 2, 1]),
    ] {
        assert_eq!(found(&index, &[1.0, 0.0], &[], limit), rows, "{limit}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_and_changes_nothing() {
    let index = Fixture::new(2).open();
    let good = || vectored(1, &[], &[1.0, 0.0]);
    for bad in [
        vectored(2, &[], &[1.0]),
        vectored(2, &[], &[1.0, 0.0, 0.0]),
        vectored(2, &[], &[f32::NAN, 0.0]),
        vectored(2, &[], &[f32::INFINITY, 0.0]),
        vectored(-1, &[], &[1.0, 0.0]),
        vectored(i64::from(u32::MAX) + 1, &[], &[1.0, 0.0]),
    ] {
        assert!(index.put(vec![good(), bad.clone()]).is_err(), "{bad:?}");
        assert_eq!(index.len(), 0);
    }
    index.put(vec![good(), vectored(u32::MAX.into(), &[], &[0.0, 1.0])]).unwrap();
    assert_eq!(found(&index, &[0.0, 1.0], &[], 1), [i64::from(u32::MAX)]);
    for query in [&[] as &[f32], &[1.0], &[1.0, 0.0, 0.0]] {
        let refused = |result: Result<(), Error>| matches!(result, Err(Error::Dimension { expected: 2, found }) if found == query.len());
        assert!(refused(index.search(query, &[], 1).map(drop)));
        assert!(refused(index.cosines(query, &[1]).map(drop)));
        assert!(refused(index.background(query).map(drop)));
    }
    assert!(matches!(index.search(&[f32::NAN, 0.0], &[], 1), Err(Error::NotFinite)));
}

#[test]
fn the_background_is_that_of_all_rows() {
    let index = Fixture::new(2).open();
    index.put(vec![vectored(1, &[], &[1.0, 0.0]), vectored(2, &[], &[0.0, 1.0])]).unwrap();
    let background = index.background(&[1.0, 0.0]).unwrap().unwrap();
    assert_eq!((background.mean, background.deviation), (0.5, 0.5));

    let mut random = Random(1);
    index.put((10..3_000).map(|row| vectored(row, &[], &random.unit(2))).collect()).unwrap();
    let background = index.background(&[1.0, 0.0]).unwrap().unwrap();
    assert!(background.mean.abs() < 0.2, "{background:?}");
    assert!((background.deviation - 0.7).abs() < 0.1, "{background:?}");
    (10..3_000).for_each(|row| index.hide(row));
    let background = index.background(&[1.0, 0.0]).unwrap().unwrap();
    assert_eq!((background.mean, background.deviation), (0.5, 0.5));
}
