//! The files that a model's folder may have, as sentence-transformers lays them out.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::pooling::Pooling;
use crate::embedding::config::SettingsError;

/// The file with the dimensions of the network.
pub(super) const CONFIG: &str = "config.json";

/// The file that says how text becomes numbers.
pub(super) const TOKENIZER: &str = "tokenizer.json";

/// The file with the weights.
pub(super) const WEIGHTS: &str = "model.safetensors";

/// The file that says what comes after the network; may be missing.
const MODULES: &str = "modules.json";

/// Where the pooling is told when no list of modules says where.
const POOLING: &str = "1_Pooling";

type Cause = Box<dyn Error + Send + Sync>;

/// A model's folder; every error of it names the file.
pub(super) struct Folder<'a>(pub(super) &'a Path);

impl Folder<'_> {
    /// Returns the bytes of a file.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, SettingsError> {
        fs::read(self.0.join(name)).map_err(|err| self.wrong(name, err))
    }

    /// Reads a value out of a JSON file.
    pub(super) fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, SettingsError> {
        serde_json::from_slice(&self.read(name)?).map_err(|err| self.wrong(name, err))
    }

    /// Says what is wrong with a file.
    pub(super) fn wrong(&self, name: &str, source: impl Into<Cause>) -> SettingsError {
        SettingsError::File { file: self.0.join(name), source: source.into() }
    }

    /// Returns how the vectors of a text's tokens become one; the mean where no file says so.
    ///
    /// A step after the network that is not known would be left out in silence, so it is refused.
    pub(super) fn pooling(&self) -> Result<Pooling, SettingsError> {
        let mut folder = PathBuf::from(POOLING);
        if self.0.join(MODULES).exists() {
            for module in self.read_json::<Vec<Module>>(MODULES)? {
                match module.kind.rsplit('.').next().unwrap_or_default() {
                    // Vectors get unit length in any case.
                    "Transformer" | "Normalize" => {}
                    "Pooling" => folder = module.path,
                    _ => {
                        let known = "only Transformer, Pooling and Normalize are known";
                        let complaint = format!("it has the module {}, and {known}", module.kind);
                        return Err(self.wrong(MODULES, complaint));
                    }
                }
            }
        }
        let name = folder.join(CONFIG);
        if !self.0.join(&name).exists() {
            return Ok(Pooling::Mean);
        }
        let name = name.to_string_lossy();
        let config: Value = self.read_json(&name)?;
        Pooling::parse(&config).map_err(|complaint| self.wrong(&name, complaint))
    }
}

#[derive(Deserialize)]
struct Module {
    path: PathBuf,
    #[serde(rename = "type")]
    kind: String,
}
