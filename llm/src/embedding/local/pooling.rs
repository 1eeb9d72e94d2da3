//! How the vectors of a text's tokens become one.

use candle_core::{Result, Tensor};
use serde_json::Value;

/// What is taken of the tokens' vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one, which stands for the whole text.
    First,
    /// The greatest number in each place.
    Max,
}

impl Pooling {
    /// Reads `1_Pooling/config.json`.
    pub(super) fn parse(config: &Value) -> std::result::Result<Self, String> {
        let modes = config.as_object().into_iter().flatten();
        let modes: Vec<_> = modes
            .filter(|(_, value)| **value == Value::Bool(true))
            .filter_map(|(name, _)| name.strip_prefix("pooling_mode_"))
            .collect();
        match modes[..] {
            ["mean_tokens"] => Ok(Self::Mean),
            ["cls_token"] => Ok(Self::First),
            ["max_tokens"] => Ok(Self::Max),
            _ => Err(format!(
                "of mean_tokens, cls_token and max_tokens one must be true, and it has {modes:?}"
            )),
        }
    }

    /// Makes `[texts, dimension]` of `[texts, tokens, dimension]`, where `mask` has 1 for a token
    /// of the text and 0 for what fills up.
    pub(super) fn pool(self, tokens: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let mask = mask.unsqueeze(2)?.to_dtype(tokens.dtype())?;
        match self {
            Self::First => tokens.narrow(1, 0, 1)?.squeeze(1),
            Self::Mean => tokens.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?),
            Self::Max => {
                let out_of_reach = ((mask - 1.0)? * f64::from(f32::MAX))?;
                tokens.broadcast_add(&out_of_reach)?.max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_the_mode_and_refuses_what_it_does_not_know() {
        for (config, expected) in [
            (
                json!({"word_embedding_dimension": 4, "pooling_mode_mean_tokens": true}),
                Some(Pooling::Mean),
            ),
            (
                json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}),
                Some(Pooling::First),
            ),
            (json!({"pooling_mode_max_tokens": true, "include_prompt": true}), Some(Pooling::Max)),
            (json!({"pooling_mode_lasttoken": true}), None),
            (json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}), None),
            (json!([]), None),
        ] {
            assert_eq!(Pooling::parse(&config).ok(), expected, "{config}");
        }
    }

    #[test]
    fn what_fills_up_does_not_count() {
        let tokens = Tensor::new(&[[[1f32, -2.0], [3.0, -4.0], [9.0, 9.0]]], &Device::Cpu).unwrap();
        let mask = Tensor::new(&[[1u32, 1, 0]], &Device::Cpu).unwrap();
        for (pooling, expected) in [
            (Pooling::Mean, [2.0, -3.0]),
            (Pooling::First, [1.0, -2.0]),
            (Pooling::Max, [3.0, -2.0]),
        ] {
            let pooled = pooling.pool(&tokens, &mask).unwrap().to_vec2::<f32>().unwrap();
            assert_eq!(pooled, [expected], "{pooling:?}");
        }
    }
}
