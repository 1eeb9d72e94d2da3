//! Random work on an index and on a plain list, which must agree to the last bit.

use std::collections::BTreeMap;

use half::f16;
use proptest::{collection::vec, prelude::*};

use super::{Fixture, Vectored};
use crate::vectors::VectorIndex;

const DIMENSION: usize = 8;

const LABELS: [&str; 4] = ["type:a", "type:b", "owner:x", "tag:k\nv"];

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<Vectored>),
    Relabel(i64, Vec<String>),
    Hide(i64),
    Search { query: Vec<f32>, filters: Vec<Vec<String>>, limit: usize },
    SaveAndOpen,
}

/// Few different numbers, so that rows are often equally near, and sums are exact.
fn vector() -> impl Strategy<Value = Vec<f32>> {
    vec(prop_oneof![Just(-0.5), Just(0.0), Just(0.25), Just(1.0)], DIMENSION)
}

fn labels() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(&LABELS, 0..=LABELS.len())
        .prop_map(|labels| labels.iter().map(ToString::to_string).collect())
}

fn row() -> impl Strategy<Value = i64> {
    prop_oneof![0..40_i64, 100_000..100_010_i64]
}

fn vectored() -> impl Strategy<Value = Vectored> {
    (row(), labels(), vector()).prop_map(|(row, labels, vector)| Vectored {
        row,
        labels,
        vector: vector.into_iter().map(f16::from_f32).collect(),
    })
}

fn filters() -> impl Strategy<Value = Vec<Vec<String>>> {
    let label = prop_oneof![9 => proptest::sample::select(&LABELS), 1 => Just("nobody")];
    vec(vec(label.prop_map(str::to_owned), 0..3), 0..3)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => vec(vectored(), 0..20).prop_map(Step::Put),
        2 => (row(), labels()).prop_map(|(row, labels)| Step::Relabel(row, labels)),
        3 => row().prop_map(Step::Hide),
        6 => (vector(), filters(), 0..30_usize)
            .prop_map(|(query, filters, limit)| Step::Search { query, filters, limit }),
        1 => Just(Step::SaveAndOpen),
    ]
}

/// The rows as they should be.
#[derive(Default)]
struct Model(BTreeMap<i64, (Vec<String>, Vec<f32>)>);

impl Model {
    fn search(&self, query: &[f32], filters: &[Vec<String>], limit: usize) -> Vec<(i64, f32)> {
        let is_kept = |labels: &[String]| {
            filters.iter().all(|group| group.iter().any(|label| labels.contains(label)))
        };
        let kept = self.0.iter().filter(|(_, (labels, _))| is_kept(labels));
        let mut near: Vec<_> = kept.map(|(row, (_, vector))| (*row, dot(query, vector))).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        near.truncate(limit);
        near
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn apply(step: Step, index: &mut VectorIndex, model: &mut Model, fixture: &Fixture) {
    match step {
        Step::Put(rows) => {
            for row in rows.clone() {
                let vector = row.vector.into_iter().map(f16::to_f32).collect();
                model.0.insert(row.row, (row.labels, vector));
            }
            index.put(rows).unwrap();
        }
        Step::Relabel(row, labels) => {
            index.relabel(row, &labels);
            if let Some(known) = model.0.get_mut(&row) {
                known.0 = labels;
            }
        }
        Step::Hide(row) => {
            index.hide(row);
            model.0.remove(&row);
        }
        Step::Search { query, filters, limit } => {
            let near = index.search(&query, &filters, limit).unwrap();
            let near: Vec<_> = near.into_iter().map(|near| (near.row, near.cosine)).collect();
            assert_eq!(near, model.search(&query, &filters, limit));
            let rows: Vec<i64> = (0..40).collect();
            let cosines = rows.iter().map(|row| Some(dot(&query, &model.0.get(row)?.1)));
            assert_eq!(index.cosines(&query, &rows).unwrap(), cosines.collect::<Vec<_>>());
        }
        Step::SaveAndOpen => {
            index.save(7).unwrap();
            *index = fixture.open();
            assert_eq!(index.mark(), 7);
        }
    }
    assert_eq!(index.len(), model.0.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn index_and_model_agree(steps in vec(step(), 1..40)) {
        let fixture = Fixture::new(DIMENSION);
        let (mut index, mut model) = (fixture.open(), Model::default());
        for step in steps {
            apply(step, &mut index, &mut model, &fixture);
        }
    }
}
