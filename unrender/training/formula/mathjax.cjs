const fs=require('fs');
const {Resvg}=require('@resvg/resvg-js');
const font=process.argv[2];
(async()=>{
  global.MathJax={loader:{paths:{mathjax:'@mathjax/src/bundle'},load:['input/tex','output/svg','adaptors/liteDOM'],require:require},output:{font:'mathjax-'+font},svg:{fontCache:'none'},startup:{typeset:false}};
  const MJ=require('@mathjax/src/bundle/startup.js');
  await MathJax.startup.promise;
  const items=JSON.parse(fs.readFileSync(0,'utf8'));
  for(const [tex,out] of items){
    try{
      const node=await MathJax.tex2svgPromise(tex,{display:true});
      let svg=MathJax.startup.adaptor.innerHTML(node);
      svg=svg.slice(svg.indexOf('<svg'),svg.lastIndexOf('</svg>')+6).replace(/currentColor/g,'black').replace(/ data-latex="[^"]*"/g,'');
      const png=new Resvg(svg,{fitTo:{mode:'zoom',value:2.2},background:'white'}).render().asPng();
      fs.writeFileSync(out,png);
    }catch(e){console.error('fail',tex,String(e).slice(0,100));}
  }
})();
