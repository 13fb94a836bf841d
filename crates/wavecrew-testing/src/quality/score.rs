//! The four parts of the score and their weights.

use wavecrew_measure::Ratio;

use super::{Data, LayerData};
use crate::coverage_figures::{lines, percent};

#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    pub parts: Vec<Part>,
    /// From 0 to 100, over the parts that are known.
    pub total: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub name: &'static str,
    pub weight: u32,
    /// From 0 to 100; `None` if there is no data.
    pub points: Option<f64>,
    /// The figures behind it.
    pub reason: String,
}

/// The points that a layer loses for each further round of the loop.
const ROUND: f64 = 25.0;

impl Score {
    pub fn of(data: &Data) -> Self {
        let parts = vec![
            coverage(data),
            effectiveness(data),
            detection(data),
            efficiency(data),
        ];
        let known = || {
            parts
                .iter()
                .filter_map(|part| Some((f64::from(part.weight), part.points?)))
        };
        let weights: f64 = known().map(|(weight, _)| weight).sum();
        let sum: f64 = known().map(|(weight, points)| weight * points).sum();
        let total = if weights > 0.0 { sum / weights } else { 0.0 };
        Self { parts, total }
    }

    /// One decimal, rounded down.
    pub fn shown(points: f64) -> String {
        format!("{:.1}", (points * 10.0).floor() / 10.0)
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    let count = u32::try_from(values.len()).ok().filter(|&count| count > 0)?;
    Some(values.iter().sum::<f64>() / f64::from(count))
}

fn covered(layer: &LayerData) -> Option<f64> {
    layer.run.coverage_achieved.as_ref()?.parse().ok()
}

fn is_met(layer: &LayerData) -> bool {
    let rate: f64 = layer.run.delivered.pass_rate.parse().unwrap_or(0.0);
    rate >= 0.95 && covered(layer).is_none_or(|covered| covered >= layer.run.target)
}

fn coverage(data: &Data) -> Part {
    let mut shares = Vec::new();
    let mut reasons = Vec::new();
    for layer in &data.layers {
        let Some(covered) = covered(layer) else { continue };
        let target = layer.run.target;
        shares.push(if target > 0.0 {
            (covered / target).min(1.0) * 100.0
        } else {
            100.0
        });
        reasons.push(format!("{} {covered} % of {target} %", layer.run.layer));
    }
    Part {
        name: "coverage achievement",
        weight: 30,
        points: mean(&shares),
        reason: if reasons.is_empty() {
            "no coverage tool".to_owned()
        } else {
            reasons.join(", ")
        },
    }
}

fn effectiveness(data: &Data) -> Part {
    let (mut killed, mut total) = (0, 0);
    for mutation in data.layers.iter().filter_map(|layer| layer.run.mutation.as_ref()) {
        killed += mutation.killed;
        total += mutation.total;
    }
    Part {
        name: "test effectiveness",
        weight: 25,
        points: (total > 0).then(|| {
            Ratio {
                covered: killed,
                total,
            }
            .percent()
        }),
        reason: if total > 0 {
            format!("{killed} of {total} mutants killed")
        } else {
            "no mutant was tried".to_owned()
        },
    }
}

fn detection(data: &Data) -> Part {
    let suspects: usize = data
        .layers
        .iter()
        .map(|layer| layer.run.suspected_defects.len())
        .sum();
    let in_scope = |file: &str| data.after.iter().any(|known| known.path == file);
    let written = data
        .defects
        .iter()
        .filter(|defect| in_scope(&defect.file))
        .count();
    let after = lines(&data.after);
    let (points, reason) = if suspects > 0 {
        let reported = written.min(suspects);
        let ratio = Ratio {
            covered: reported as u64,
            total: suspects as u64,
        };
        (
            Some(ratio.percent()),
            format!(
                "{reported} of {suspects} consistently failing tests are reported as defects with their location"
            ),
        )
    } else if after.total > 0 {
        let why = "no test fails consistently; uncovered code cannot show a defect";
        (
            Some(after.percent()),
            format!("{} % of the lines in scope are run ({why})", percent(after)),
        )
    } else {
        (None, "nothing was measured".to_owned())
    };
    Part {
        name: "defect detection",
        weight: 25,
        points,
        reason,
    }
}

fn efficiency(data: &Data) -> Part {
    let mut points = Vec::new();
    let mut reasons = Vec::new();
    for layer in &data.layers {
        let met = is_met(layer);
        points.push(if met {
            (100.0 - ROUND * f64::from(layer.rounds)).max(0.0)
        } else {
            0.0
        });
        let end = if met { "met" } else { "missed" };
        reasons.push(format!(
            "{}: target {end} after {} rounds",
            layer.run.layer, layer.rounds
        ));
    }
    Part {
        name: "GC efficiency",
        weight: 20,
        points: mean(&points),
        reason: if reasons.is_empty() {
            "no layer was run".to_owned()
        } else {
            reasons.join(", ")
        },
    }
}
