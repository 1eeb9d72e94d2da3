//! When a search is sure enough that a record answers: the calibrations that come with the hub, and a user's own.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use protocol::hub::{Calibration, FieldFault, Signals};

/// The signals that a calibration may name.
pub(crate) const FEATURES: [&str; 7] =
    ["share", "match", "lead_match", "vector", "lead_vector", "deviations", "lead_deviations"];

/// Those of them that searches by words alone lack.
const OF_VECTORS: [&str; 4] = ["vector", "lead_vector", "deviations", "lead_deviations"];

/// For searches by words alone.
const BY_WORDS: &str = include_str!("../../calibrations/words.json");

/// For searches by vectors too, by a word in the name of the embedding spaces that they were fitted to; the last holds for any.
const BY_VECTORS: [(&str, &str, &str); 2] = [
    (
        "e5",
        include_str!("../../calibrations/e5.json"),
        include_str!("../../calibrations/e5-across.json"),
    ),
    (
        "",
        include_str!("../../calibrations/any-vectors.json"),
        include_str!("../../calibrations/any-across.json"),
    ),
];

/// Why `SEARCH_CALIBRATION` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationFault {
    /// The file cannot be read.
    #[error("SEARCH_CALIBRATION: cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is no calibration.
    #[error("SEARCH_CALIBRATION: {} is not what `knowhub eval --fit` writes", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where it is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// One of its fields is wrong.
    #[error("SEARCH_CALIBRATION: {}: {fault}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Which, and what would be right.
        fault: FieldFault,
    },
    /// It was fitted to another embedding model.
    #[error(
        "SEARCH_CALIBRATION: {} was fitted to {fitted}, and the hub uses {used}; \
         fit it anew with `knowhub eval --fit`, or unset it", path.display()
    )]
    Space {
        /// The file.
        path: PathBuf,
        /// The space in the file.
        fitted: String,
        /// The space in use.
        used: String,
    },
}

/// The calibrations in use.
#[derive(Clone, Debug)]
pub(crate) struct Calibrations {
    /// For searches by words alone.
    pub(crate) by_words: Calibration,
    /// For searches by vectors too.
    pub(crate) by_vectors: Calibration,
    /// For records in another script than the question, which share names and numbers with it at most.
    across: Calibration,
}

impl Calibrations {
    /// Returns those for an embedding space, if there is one, with what the file at `path` has in place of the hub's own.
    pub(crate) fn load(path: Option<&Path>, space: Option<&str>) -> Result<Self, CalibrationFault> {
        let own = |json| serde_json::from_str(json).expect("the hub's own calibrations are JSON");
        let name = space.unwrap_or_default().to_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        let fits = |(word, ..): &&(&str, &str, &str)| {
            word.is_empty() || words.clone().any(|one| one == *word)
        };
        let (_, by_vectors, across) =
            BY_VECTORS.iter().find(fits).expect("the last one fits any space");
        let mut calibrations =
            Self { by_words: own(BY_WORDS), by_vectors: own(by_vectors), across: own(across) };
        calibrations.by_vectors.space = space.map(str::to_owned);
        if let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) {
            let fitted = read(path)?;
            if fitted.space.is_none()
                && let Some(name) =
                    fitted.features.iter().find(|name| OF_VECTORS.contains(&&***name))
            {
                let what = format!("{name:?} is a signal of vectors, and the space is null");
                let (path, fault) = (path.to_owned(), FieldFault::new("features", what));
                return Err(CalibrationFault::Field { path, fault });
            }
            match (&fitted.space, space) {
                (None, _) => calibrations.by_words = fitted,
                (Some(one), Some(used)) if one == used => calibrations.by_vectors = fitted,
                (Some(one), used) => {
                    let used = used.unwrap_or("no embedding model").to_owned();
                    let (path, fitted) = (path.to_owned(), one.clone());
                    return Err(CalibrationFault::Space { path, fitted, used });
                }
            }
        }
        Ok(calibrations)
    }

    /// Returns how probable it is that a record with these signals answers, and whether that is enough.
    ///
    /// `is_across` tells that the record is written in another script than the question.
    pub(super) fn judge(&self, signals: &Signals, is_across: bool) -> (f64, bool) {
        let calibration = match (signals.vector, is_across) {
            (None, _) => &self.by_words,
            (Some(_), false) => &self.by_vectors,
            (Some(_), true) => &self.across,
        };
        let probability = calibration.probability(|name| signal(signals, name));
        (probability, probability >= calibration.threshold)
    }
}

fn read(path: &Path) -> Result<Calibration, CalibrationFault> {
    let path = path.to_owned();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(CalibrationFault::File { path, source }),
    };
    let calibration: Calibration = match serde_json::from_str(&text) {
        Ok(calibration) => calibration,
        Err(source) => return Err(CalibrationFault::Json { path, source }),
    };
    match calibration.check(&FEATURES) {
        Ok(()) => Ok(calibration),
        Err(fault) => Err(CalibrationFault::Field { path, fault }),
    }
}

fn signal(signals: &Signals, name: &str) -> Option<f64> {
    match name {
        "share" => signals.share,
        "match" => signals.matched,
        "lead_match" => signals.lead_match,
        "vector" => signals.vector,
        "lead_vector" => signals.lead_vector,
        "deviations" => signals.deviations,
        "lead_deviations" => signals.lead_deviations,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hubs_own_calibrations_are_whole() {
        for space in [None, Some("text-embedding-3-small"), Some("intfloat/multilingual-E5-small")]
        {
            let Calibrations { by_words, by_vectors, across } =
                Calibrations::load(None, space).unwrap();
            for one in [by_words, by_vectors, across] {
                one.check(&FEATURES).unwrap();
            }
        }
        let e5 = Calibrations::load(None, Some("e5-passage")).unwrap();
        assert!(e5.by_vectors.features.contains(&"vector".to_owned()));
        assert_eq!(e5.by_vectors.space.as_deref(), Some("e5-passage"), "it can be given back");
        for other in ["bge-m3", "local-77e5aa0102030405", "code5e"] {
            let other = Calibrations::load(None, Some(other)).unwrap();
            assert!(!other.by_vectors.features.contains(&"vector".to_owned()), "scales differ");
        }
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        let refused = |text: &str, space| {
            fs::write(&path, text).unwrap();
            let fault = Calibrations::load(Some(&path), space).unwrap_err().to_string();
            assert!(fault.starts_with("SEARCH_CALIBRATION: "), "{fault}");
            fault
        };
        let of = |space: &str, feature: &str| {
            format!(
                r#"{{"space": {space}, "features": ["{feature}"], "weights": [1], "bias": 0, "threshold": 0.5}}"#
            )
        };
        assert!(refused("{", None).contains("knowhub eval --fit"));
        assert!(refused(&of("null", "luck"), None).contains("features"));
        assert!(refused(&of("null", "vector"), None).contains("signal of vectors"));
        assert!(refused(&of("\"a\"", "share"), Some("b")).contains("was fitted to a"));
        assert!(refused(&of("\"a\"", "share"), None).contains("no embedding model"));
        fs::write(&path, of("\"a\"", "share")).unwrap();
        let loaded = Calibrations::load(Some(&path), Some("a")).unwrap();
        assert_eq!(loaded.by_vectors.features, ["share"]);
        assert!(Calibrations::load(Some(&folder.path().join("none")), None).is_err());
    }
}
