//! Coverage per run of each layer, as an SVG drawing without external files.

use super::Data;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 96.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
const COLOURS: [&str; 3] = ["#1b6ca8", "#c8553d", "#3d8361"];

pub fn svg(data: &Data) -> String {
    let series: Vec<(String, f64, Vec<f64>)> = data
        .layers
        .iter()
        .map(|layer| {
            let runs = layer.history.iter().chain([&layer.run]);
            let points = runs
                .filter_map(|run| run.coverage_achieved.as_ref()?.parse().ok())
                .collect();
            (layer.run.layer.clone(), layer.run.target, points)
        })
        .collect();
    let most = series
        .iter()
        .map(|(_, _, points)| points.len())
        .max()
        .unwrap_or(1)
        .max(2);
    let steps = f64::from(u32::try_from(most - 1).unwrap_or(1));
    let x = |n: usize| LEFT + (WIDTH - LEFT - RIGHT) * f64::from(u32::try_from(n).unwrap_or(0)) / steps;
    let y = |percent: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - percent / 100.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Coverage per run</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for mark in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let at = y(mark);
        out.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{mark} %</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0
        ));
    }
    for n in 0..most {
        out.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">run {}</text>\n",
            x(n),
            HEIGHT - BOTTOM + 20.0,
            n + 1
        ));
    }
    for (index, (layer, target, points)) in series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let goal = y(*target);
        out.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{goal}\" y2=\"{goal}\" stroke=\"{colour}\" stroke-dasharray=\"5 4\" opacity=\"0.6\"/>\n\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{layer} target</text>\n",
            WIDTH - RIGHT,
            WIDTH - RIGHT + 6.0,
            goal + 4.0
        ));
        let path: Vec<String> = points
            .iter()
            .enumerate()
            .map(|(n, p)| format!("{},{}", x(n), y(*p)))
            .collect();
        out.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            path.join(" ")
        ));
        for (n, point) in points.iter().enumerate() {
            out.push_str(&format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{colour}\"><title>{layer}, run {}: {point} %</title></circle>\n",
                x(n),
                y(*point),
                n + 1
            ));
        }
    }
    out.push_str("</svg>\n");
    out
}
