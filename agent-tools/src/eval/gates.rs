//! Gates: figures that a run must reach, or must not pass.

use serde::{Deserialize, Serialize};

use super::report::{MEASURES, Measure, Report};

/// A figure that a run must reach, or must not pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    measure: &'static Measure,
    side: Side,
    bound: f64,
}

/// On which side of a bound a figure must be; on it, it is always well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    AtLeast,
    AtMost,
}

/// What became of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checked {
    /// The gate, such as `r10 >= 0.995`.
    pub(crate) gate: String,
    pub(crate) value: f64,
    pub(crate) holds: bool,
}

impl Gate {
    /// Reads a gate such as `r10=0.995`.
    pub(crate) fn parse(text: &str, side: Side) -> Result<Self, String> {
        let (name, bound) = text.split_once('=').unwrap_or((text, ""));
        let Some(measure) = MEASURES.iter().find(|measure| measure.name == name.trim()) else {
            let names: Vec<_> = MEASURES.iter().map(|measure| measure.name).collect();
            return Err(format!("expected one of {}, such as r10=0.99", names.join(", ")));
        };
        match bound.trim().parse::<f64>() {
            Ok(bound) if bound.is_finite() => Ok(Self { measure, side, bound }),
            _ => Err(format!("expected a number, such as {name}=0.99")),
        }
    }

    /// Returns the name of its figure.
    pub(crate) fn measure(&self) -> &'static str {
        self.measure.name
    }

    /// Tells whether a run gets through; `None` where it did not measure the figure.
    pub(crate) fn check(&self, report: &Report) -> Option<Checked> {
        let value = (self.measure.value)(report)?;
        let (sign, holds) = match self.side {
            Side::AtLeast => (">=", value >= self.bound),
            Side::AtMost => ("<=", value <= self.bound),
        };
        Some(Checked { gate: format!("{} {sign} {}", self.measure.name, self.bound), value, holds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_hold_on_their_side() {
        let report = Report { missed: Some(0.02), ..Report::default() };
        for (text, side, holds) in [
            ("missed=0.02", Side::AtMost, true),
            ("missed=0.02", Side::AtLeast, true),
            (" missed = 0.01", Side::AtMost, false),
            ("missed=0.03", Side::AtLeast, false),
        ] {
            let checked = Gate::parse(text, side).unwrap().check(&report).unwrap();
            assert_eq!(checked.holds, holds, "{text} {side:?}");
        }
        assert_eq!(Gate::parse("r10=1", Side::AtLeast).unwrap().check(&report), None);
    }

    #[test]
    fn what_is_no_gate_says_what_would_be_one() {
        for (text, wanted) in [
            ("r20=1", "expected one of r1, r5, r10, mrr"),
            ("", "expected one of"),
            ("r10", "expected a number"),
            ("r10=", "expected a number"),
            ("r10=NaN", "expected a number"),
            ("r10=99 %", "expected a number"),
        ] {
            let fault = Gate::parse(text, Side::AtLeast).unwrap_err();
            assert!(fault.contains(wanted), "{text}: {fault}");
        }
    }
}
